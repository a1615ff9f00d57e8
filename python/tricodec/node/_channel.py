# SPDX-License-Identifier: Apache-2.0
"""Messages between processes of one machine: JSON texts with open files beside them, and failures on their way back.

JSON and never pickle: a process that hostile media took over must not be able to run code in another one.
"""

from __future__ import annotations

import array
import builtins
import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import re
import resource
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


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_MAP_FIXED = 0x10


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

    If this process may open no more files, the message comes without them, and with a failure.

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
        if flags & socket.MSG_TRUNC:
            raise ValueError("a message is too long")
        is_complete = not flags & socket.MSG_CTRUNC
        if data == b"{}" and files and is_complete:
            text = files.pop()
            try:
                data = os.pread(text, os.fstat(text).st_size, 0)
            finally:
                os.close(text)
        message = json.loads(data)
        if not isinstance(message, dict):
            raise ValueError(f"a message is a {type(message).__name__}, not an object")
        if not is_complete:
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            why = f"process {os.getpid()} may have {most} files open (ulimit -n), and has as many; close some"
            if not message:  # the text was in a file
                raise ValueError(why)
            close(files)
            return {**message, "failure": failure_of(OSError(why))}, []
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
        write(file, data)
    except BaseException:
        os.close(file)
        raise
    return file


def write(file: int, data: Any) -> None:
    """Writes all bytes of an object (bytes-like, contiguous)."""
    view = memoryview(data)
    view = view.cast("B") if view.nbytes else memoryview(b"")
    while view:
        view = view[os.write(file, view) :]


def empty_file(name: str, size: int) -> int:
    """A memory file of `size` bytes, which are there: without them a writer would die of SIGBUS; the caller closes it.

    Raises:
        MemoryError: the machine does not have so much memory.
    """
    file = -1
    try:
        file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.posix_fallocate(file, 0, size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except OSError as error:
        if file >= 0:
            os.close(file)
        raise MemoryError(f"the machine has no memory left for {size} bytes of results ({error.strerror})") from error
    return file


class Memory(mmap.mmap):
    """Memory of another process's file, mapped into this one."""

    owner: Any = None  # lives as long as the memory is mapped


def map_file(file: int, size: int) -> Memory:
    """Maps a memory file of another process, of which the caller may close the file.

    Raises:
        MemoryError: this process may have no more memory.
        ValueError: it is shorter than `size`, or could be cut short while it is read.
    """
    if not fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    if os.fstat(file).st_size < size:
        raise ValueError(f"a memory file has {os.fstat(file).st_size} bytes, and {size} were announced")
    try:
        # An mmap of the file would keep it open, and programs hold more arrays than a process may have open files.
        memory = Memory(-1, max(1, size), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        how = mmap.MAP_SHARED | _MAP_FIXED | getattr(mmap, "MAP_POPULATE", 0)
        if _libc.mmap(address, max(1, size), mmap.PROT_READ | mmap.PROT_WRITE, how, file, 0) != address:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    except OSError as error:
        raise MemoryError(f"{size} bytes of results cannot be mapped ({error.strerror})") from error
    return memory


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
