# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the documented API and how tricodec's errors become them.

What is wrong with the media raises one of the two classes below; what is wrong with the call raises ``TypeError``,
``ValueError``, ``IndexError`` or a plain ``RuntimeError``; a failed allocation or device keeps tricodec's own class.
"""

from __future__ import annotations

from types import TracebackType

import tricodec


class PyNvVCException(RuntimeError):
    """The media cannot be read or decoded."""


class PyNvVCExceptionUnsupported(RuntimeError):
    """The media are valid, but nothing here decodes or encodes them. Not a ``PyNvVCException``, as in the original."""


class PyNvVCExceptionNotFound(PyNvVCException, FileNotFoundError):
    """A missing file, also for programs that expect Python's own class. Not a name of the module."""


class translated_errors:
    """A context in which tricodec's errors about media become the documented ones.

    A class rather than a generator: it is entered for every packet, and this costs a fifth of ``contextmanager``.
    """

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        """``what`` was attempted, for the front of the message: a file's name, "decoding h264"."""
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, tricodec.Error):
            return
        text = str(error)
        message = text if self._what in text else f"{self._what}: {text}"
        if isinstance(error, tricodec.UnsupportedError):
            raise PyNvVCExceptionUnsupported(message) from error
        if isinstance(error, tricodec.MediaNotFoundError):
            raise PyNvVCExceptionNotFound(message) from error
        if isinstance(error, (tricodec.CorruptDataError, tricodec.RefusedError, tricodec.MediaIOError)):
            raise PyNvVCException(message) from error
