# SPDX-License-Identifier: Apache-2.0
"""What ``dir()`` shows of a module: its public names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def public_names(namespace: Mapping[str, Any]) -> Callable[[], list[str]]:
    """A module's ``__dir__``: what ``__all__`` lists, its public submodules, and Python's own names.

    Args:
        namespace: ``globals()`` of the module.
    """

    def names() -> list[str]:
        package = namespace["__name__"]
        own = {name for name in namespace if name.startswith("__")}
        modules = {
            name
            for name, value in namespace.items()
            # Deprecated modules have a class of their own.
            if type(value) is ModuleType and value.__name__ == f"{package}.{name}" and not name.startswith("_")
        }
        return sorted({*namespace["__all__"], *own, *modules})

    return names
