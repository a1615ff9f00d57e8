# SPDX-License-Identifier: Apache-2.0
"""The exceptions of tricodec.

Errors in arguments raise Python's own classes: `ValueError`, `TypeError` and, past the end, `IndexError`.
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
    "SourceChangedError",
    "UnsupportedError",
]


class Error(RuntimeError):
    """The base class of tricodec's errors, except errors in arguments."""


class UnsupportedError(Error):
    """The request is valid, but this build or machine cannot do it: a codec, a pixel format, a conversion."""


class RefusedError(Error):
    """A limit (`set_limits`) or the list of allowed containers forbids the request."""


class CorruptDataError(Error):
    """The media are damaged in a place that the request needs, sizes and counts in headers included."""


class MediaIOError(Error, OSError):
    """Reading or writing a file failed. Errors of an object's own ``read()`` stay unchanged."""


class MediaNotFoundError(MediaIOError, FileNotFoundError):
    """The file does not exist."""


class SourceChangedError(MediaIOError):
    """An object that `open_remote` reads was replaced by another version while it was read."""


class OutOfMemoryError(Error, MemoryError):
    """The machine does not have enough memory for the request."""


class DeviceError(Error):
    """A GPU or its driver failed, or the request needs a GPU and there is none."""


class InternalError(Error):
    """A defect of tricodec; please report it."""
