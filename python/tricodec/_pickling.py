# SPDX-License-Identifier: Apache-2.0
"""How a Transform goes to other processes: by its options."""

from __future__ import annotations

from typing import Any

from tricodec._tricodec import Transform


def make(cls: type[Transform], options: dict[str, Any]) -> Transform:
    """Calls a class with keywords, which pickle itself cannot."""
    return cls(**options)


def install() -> None:
    """Gives Transform its ``__reduce__``."""
    Transform.__reduce__ = _reduce_transform  # type: ignore[method-assign,assignment]


def _reduce_transform(self: Transform) -> tuple[Any, ...]:
    return make, (type(self), self.options)
