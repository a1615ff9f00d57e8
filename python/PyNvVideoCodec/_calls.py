# SPDX-License-Identifier: Apache-2.0
"""For all calls of this package: its version, checks of arguments, errors, locks, the choice of a device."""

from __future__ import annotations

import logging
import operator
import os
import sys
import threading
import warnings
import weakref
from types import TracebackType
from typing import Any

import numpy as np
import tricodec

logger = logging.getLogger("PyNvVideoCodec")


# Errors in the media raise one of the classes below. Errors in a call raise TypeError, ValueError, IndexError or
# RuntimeError itself. Failed allocations and devices keep tricodec's own classes.


class PyNvVCException(RuntimeError):
    """The media cannot be read or decoded."""


class PyNvVCExceptionUnsupported(RuntimeError):
    """The media are valid, but no engine decodes or encodes them. As in the original, it is no ``PyNvVCException``."""


class PyNvVCExceptionNotFound(PyNvVCException, FileNotFoundError):
    """A missing file, also for programs that expect Python's own class. The module does not export it."""


class translated_errors:
    """A context that turns tricodec's errors in media into the documented ones.

    It is entered for every packet. As a class it takes a fifth of the time of a ``contextmanager``.
    """

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        """``what`` is the start of the message: the name of a file, or "decoding h264"."""
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


def expect_int(name: str, value: Any) -> int:
    """An int, also one of numpy's. Raises TypeError with the name of the argument."""
    try:
        return operator.index(value)
    except TypeError:
        message = f"{name} must be an int, not {type(value).__name__}"
        raise TypeError(message) from None


def expect_ints(**values: Any) -> None:
    """Checks several arguments by `expect_int`."""
    for name, value in values.items():
        expect_int(name, value)


def expect_flag(name: str, value: Any) -> bool:
    """True, False, 1 or 0. Raises TypeError or ValueError with the name of the argument."""
    number = expect_int(name, bool(value) if isinstance(value, np.bool_) else value)  # numpy's bool has no __index__
    if number not in (0, 1):
        message = f"{name} must be True, False, 1 or 0, not {value!r}"
        raise ValueError(message)
    return bool(number)


def choose_device(gpu: int, wants_device_memory: bool, argument: str) -> tuple[str, str | None]:
    """The request for tricodec's decoders, and the GPU for frames (None for host memory).

    Args:
        gpu: number of the GPU.
        wants_device_memory: whether the program wants frames in device memory.
        argument: name of the argument that requests it, for the warning.
    """
    device = tricodec.video.resolve_device("auto")
    if device == "cpu":
        if wants_device_memory:
            _warn_of_host_memory(argument)
        return "auto", None
    if gpu != 0:
        device = tricodec.video.resolve_device(f"cuda:{gpu}")
    return f"auto:{gpu}" if gpu != 0 else "auto", device if wants_device_memory else None


_host_memory_warned = False


def _warn_of_host_memory(argument: str) -> None:
    """Warns once a process that frames are in host memory."""
    global _host_memory_warned  # noqa: PLW0603
    if _host_memory_warned:
        return
    _host_memory_warned = True
    message = (
        f"{argument}=True, but there is no usable GPU decoder: frames are in host memory (__dlpack_device__() is "
        f"(1, 0)). Pass {argument}=False, or set TRICODEC_DEVICE=cuda to make this an error."
    )
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(f"{__package__}."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)  # the line of the program


_LOCKS: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


def make_lock() -> threading.RLock:
    """A lock for an object. A forked child finds it free, because the thread that may hold it does not exist there."""
    lock = threading.RLock()
    _LOCKS.add(lock)
    return lock


def _free_all() -> None:
    for lock in _LOCKS:
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # like logging in the standard library


os.register_at_fork(after_in_child=_free_all)


# The version of the original that a program is written for: its releases disagree about ``bf``.

#: The latest release of each version, for ``__version__``.
RELEASES = {"1.0": "1.0.2", "2.2": "2.2.4"}
_VARIABLE = "TRICODEC_PYNV_API"

_chosen: str | None = None
_has_met_2 = False


def set_api_version(version: str) -> None:
    """Choose the version of the original for the encoders that are made after the call.

    It decides what ``bf`` means. In "1.0" it is the GOP pattern of the document's Table 1: 0 is I, 1 IPP, 2 IBP, 3
    IBBP. In "2.2" it is the number of B frames: 0 is IPP, 2 is IBBP. "auto", the default, is 2.2 for a program that has
    used names or options that 1.0 lacks, and 1.0 for any other. The environment variable TRICODEC_PYNV_API is the
    choice of programs that do not call this function. ``__version__`` is the latest release of the chosen version, and
    2.2's for "auto".

    Args:
        version: "1.0", "2.2" or "auto".

    Raises:
        ValueError: another version.

    Thread safety: the choice is the whole process's; make it before the first encoder.
    """
    global _chosen  # noqa: PLW0603
    _chosen = _checked(version, "version")
    package = sys.modules[__package__]
    package.__version__ = release()  # type: ignore[attr-defined]


def note_2() -> None:
    """Notes that the program uses what only 2.x has."""
    global _has_met_2  # noqa: PLW0603
    _has_met_2 = True


def chosen_version() -> str | None:
    """The version that the program or the environment chooses; None for "auto"."""
    version = _chosen or _checked(os.environ.get(_VARIABLE) or "auto", _VARIABLE)
    return None if version == "auto" else version


def version() -> str:
    """The version that the program is written for."""
    return chosen_version() or ("2.2" if _has_met_2 else "1.0")


def release() -> str:
    """The release that ``__version__`` names."""
    return RELEASES[chosen_version() or "2.2"]


def _checked(version: str, name: str) -> str:
    if version not in (*RELEASES, "auto"):
        message = f"{name} is {version!r}; accepted: {', '.join(map(repr, (*RELEASES, 'auto')))}"
        raise ValueError(message)
    return version
