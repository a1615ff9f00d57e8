# SPDX-License-Identifier: Apache-2.0
"""Messages between processes of one machine: JSON texts with open files beside them, and failures on their way back.

JSON and never pickle: a process that hostile media took over must not be able to run code in another one.
"""

from __future__ import annotations

import array
import builtins
import contextlib
import fcntl
import json
import mmap
import os
import re
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from tricodec import errors

_MOST_BYTES = 2 << 10
"""A longer text goes as a memory file: a socket holds some 200 KiB, and all that a client may have asked must fit."""
_MOST_FILES = 4
_MOST_TEXT = 4000
_DESCRIPTOR = re.compile(r"/proc/self/fd/\d+")


class ClosedError(ConnectionError):
    """The other side is gone."""


def pair() -> tuple[socket.socket, socket.socket]:
    """A connection that keeps the bounds of messages and can carry file descriptors."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(channel: socket.socket, message: dict[str, Any], files: Sequence[int] = (), *, wait: bool = True) -> None:
    """Sends one message, and open files with it, which stay the caller's. Thread safety: safe.

    Raises:
        ClosedError: the receiver has closed its end, or does not read and `wait` is False.
    """
    data = json.dumps(message).encode()
    flags = socket.MSG_NOSIGNAL | (0 if wait else socket.MSG_DONTWAIT)
    with contextlib.ExitStack() as stack:
        if len(data) > _MOST_BYTES:
            text = memory_file("tricodec-message", data)
            stack.callback(os.close, text)
            files, data = [*files, text], b"{}"
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        try:
            channel.sendmsg([data], rights, flags)
        except (BrokenPipeError, ConnectionResetError, BlockingIOError) as error:
            raise ClosedError("the other side closed the connection, or does not read from it") from error
        except OSError as error:
            if channel.fileno() < 0:  # closed by another thread of this process
                raise ClosedError("the connection is closed") from error
            raise


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receives one message, and the files that came with it, which the caller closes.

    Raises:
        ClosedError: at the end of the connection.
        ValueError: the message has an unknown form; the sender is not to be trusted any more.
    """
    try:
        data, files, flags, _ = socket.recv_fds(channel, 2 * _MOST_BYTES, _MOST_FILES, socket.MSG_CMSG_CLOEXEC)
    except OSError as error:
        raise ClosedError("the connection is closed") from error
    try:
        if not data:
            raise ClosedError("the other side closed the connection")
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise ValueError("a message is too long or has too many files")
        if data == b"{}" and files:
            text = files.pop()
            try:
                data = os.pread(text, os.fstat(text).st_size, 0)
            finally:
                os.close(text)
        message = json.loads(data)
        if not isinstance(message, dict):
            raise ValueError(f"a message is a {type(message).__name__}, not an object")
    except BaseException:
        close(files)
        raise
    return message, files


def close(files: Sequence[int]) -> None:
    """Closes files of a message."""
    for file in files:
        os.close(file)


def memory_file(name: str, data: Any) -> int:
    """A memory file with these bytes (bytes-like, contiguous); the caller closes it."""
    file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        view = view.cast("B") if view.nbytes else memoryview(b"")
        while view:
            view = view[os.write(file, view) :]
    except BaseException:
        os.close(file)
        raise
    return file


def empty_file(name: str, size: int) -> int:
    """A memory file of `size` bytes, which are there: without them a writer would die of SIGBUS; the caller closes it.

    Raises:
        MemoryError: the machine does not have so much memory.
    """
    file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.posix_fallocate(file, 0, size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except OSError as error:
        os.close(file)
        raise MemoryError(f"the machine has no memory left for {size} bytes of results ({error.strerror})") from error
    return file


def map_file(file: int, size: int) -> mmap.mmap:
    """Maps a memory file of another process.

    Raises:
        ValueError: it is shorter than `size`, or could be cut short while it is read.
    """
    if not fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    if os.fstat(file).st_size < size:
        raise ValueError(f"a memory file has {os.fstat(file).st_size} bytes, and {size} were announced")
    return mmap.mmap(file, max(1, size), mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))


def failure_of(error: BaseException, name: str = "") -> dict[str, Any]:
    """An exception as part of a message.

    Args:
        error: of any class; its nearest base that another process knows goes.
        name: of the source, which a worker knows as a descriptor.
    """
    names = [base.__name__ for base in type(error).__mro__]
    kinds = [base.__name__ for base in type(error).__mro__ if _known(base.__name__) is base]
    text = _DESCRIPTOR.sub(lambda _: name, str(error)) if name else str(error)
    if not kinds or kinds[0] in ("Exception", "RuntimeError"):
        traceback.print_exception(error, file=sys.stderr)
        text = f"{type(error).__name__}: {text}"
        return {"kind": "InternalError", "text": text[:_MOST_TEXT], "names": names}
    return {"kind": kinds[0], "text": (text or kinds[0])[:_MOST_TEXT], "names": names}


def error_of(failure: dict[str, Any]) -> Exception:
    """The exception that `failure_of` described."""
    kind = _known(str(failure["kind"])) or errors.InternalError
    error: Exception = kind(str(failure["text"]))
    return error


def _known(kind: str) -> Any:
    """The class of a name; None for what is no exception."""
    found = getattr(errors, kind, None) if kind in errors.__all__ else getattr(builtins, kind, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None
