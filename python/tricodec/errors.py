# SPDX-License-Identifier: Apache-2.0
"""The exceptions of tricodec.

Arguments that are not accepted raise the builtins: `ValueError`, `TypeError` and, past the end, `IndexError`.
"""

from __future__ import annotations

__all__ = [
    "CorruptDataError",
    "DeviceError",
    "Error",
    "InternalError",
    "MediaIOError",
    "MediaNotFoundError",
    "OutOfMemoryError",
    "RefusedError",
    "UnsupportedError",
]


class Error(RuntimeError):
    """Base of what tricodec raises for failures that are not the caller's arguments."""


class UnsupportedError(Error):
    """The request is valid, but nothing here can do it: a codec, a pixel format, a conversion."""


class RefusedError(Error):
    """A limit (`set_limits`) or the list of allowed containers forbids it."""


class CorruptDataError(Error):
    """The media are damaged where they must not be."""


class MediaIOError(Error, OSError):
    """Reading or writing a file failed."""


class MediaNotFoundError(MediaIOError, FileNotFoundError):
    """There is no such file."""


class OutOfMemoryError(Error, MemoryError):
    """The machine lacks memory for what was asked."""


class DeviceError(Error):
    """A GPU or its driver failed, or is demanded and not there."""


class InternalError(Error):
    """A defect of tricodec; please report it."""


# Users meet the classes as tricodec.X, and that is how messages and pickles name them.
for _name in __all__:
    globals()[_name].__module__ = "tricodec"
