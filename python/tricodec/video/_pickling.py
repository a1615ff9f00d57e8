# SPDX-License-Identifier: Apache-2.0
"""How objects go to other processes: by what they were made with, never by frames or decoders."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tricodec._tricodec import FrameReader, Transform


def make(cls: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Calls a class with keywords, which pickle itself cannot."""
    return cls(*arguments, **keywords)


def reduce_transform(self: Transform) -> tuple[Any, ...]:
    """``Transform.__reduce__``."""
    return make, (type(self), (), self.options)


def reduce_reader(self: FrameReader) -> tuple[Any, ...]:
    """``FrameReader.__reduce__``."""
    if self.closed:
        raise TypeError("this FrameReader is closed, and cannot be pickled; pickle it before close()")
    source, options = self._opened_with
    if isinstance(source, str | os.PathLike):
        from pathlib import Path  # slow to import, and seldom needed

        source = str(Path(os.fsdecode(source)).absolute())
    elif isinstance(source, bytes | bytearray | memoryview):
        source = bytes(source)
    else:
        raise TypeError(
            f"a FrameReader of {type(source).__name__} cannot be pickled; open it by a path or from bytes, or make it "
            "in the other process"
        )
    for name in ("context", "stream"):
        if options[name] is not None:
            raise TypeError(f"a FrameReader with {name} cannot be pickled: it belongs to this process; leave it out")
    return make, (type(self), (source,), options)
