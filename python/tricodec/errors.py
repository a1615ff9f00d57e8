# SPDX-License-Identifier: Apache-2.0
"""The exceptions of tricodec.

Errors in arguments raise Python's own classes: `ValueError`, `TypeError` and, past the end, `IndexError`.
"""

__all__ = [
    "CorruptDataError", "DeviceError", "Error", "InternalError", "MediaIOError", "MediaNotFoundError",
    "OutOfMemoryError", "RefusedError", "SourceChangedError", "UnsupportedError",
]  # fmt: skip


class Error(RuntimeError):
    """The base class of all errors of tricodec but those in arguments.

    >>> issubclass(tricodec.UnsupportedError, tricodec.Error), issubclass(tricodec.Error, RuntimeError)
    (True, True)
    """


class UnsupportedError(Error):
    """The request is valid, but this build or machine cannot do it, or the file has no such stream.

    >>> tricodec.AudioReader(tricodec.encode_video(np.zeros((4, 48, 64, 3), np.uint8)))
    Traceback (most recent call last):
    tricodec.errors.UnsupportedError: ...
    """


class RefusedError(Error):
    """A limit (`set_limits`) or a rule of safety forbids the request, such as a plain URL in place of a file.

    >>> tricodec.probe("https://example.com/a.mp4")
    Traceback (most recent call last):
    tricodec.errors.RefusedError: ...
    """


class CorruptDataError(Error):
    """The data are no media file, or are damaged in a place that the request needs.

    >>> tricodec.probe(b"This is no video.")
    Traceback (most recent call last):
    tricodec.errors.CorruptDataError: ...
    """


class MediaIOError(Error, OSError):
    """Reading or writing a file failed. An error that the ``read()`` of a source raises stays unchanged.

    >>> issubclass(tricodec.MediaIOError, OSError)
    True
    """


class MediaNotFoundError(MediaIOError, FileNotFoundError):
    """The file does not exist.

    >>> tricodec.probe("no_such_file.mp4")
    Traceback (most recent call last):
    tricodec.errors.MediaNotFoundError: ...
    """


class SourceChangedError(MediaIOError):
    """An object that `open_remote` reads was replaced by another version while it was read."""


class OutOfMemoryError(Error, MemoryError):
    """The machine does not have enough memory for the request.

    >>> issubclass(tricodec.OutOfMemoryError, MemoryError)
    True
    """


class DeviceError(Error):
    """A GPU or its driver failed, or the request needs a GPU and there is none.

    >>> tricodec.FrameReader(tricodec.sample_video(), device="cuda:99")
    Traceback (most recent call last):
    tricodec.errors.DeviceError: ...
    """


class InternalError(Error):
    """A defect of tricodec; please report it."""
