# SPDX-License-Identifier: Apache-2.0
"""Messages between the stub and its workers: small JSON texts, with a memory file beside them where there are bytes.

JSON and never pickle: a worker that hostile media took over must not be able to run code in the stub.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import mmap
import os
import socket
from typing import Any

_MAX_MESSAGE_BYTES = 65536


class ChannelClosedError(ConnectionError):
    """The other side is gone."""


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """A connection that keeps the bounds of messages and can carry file descriptors."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(channel: socket.socket, message: dict[str, Any], file: int | None = None) -> None:
    """Sends one message and a file with it.

    Raises:
        ChannelClosedError: if the receiver has closed its end.
    """
    data = json.dumps(message).encode()
    ancillary = [] if file is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]
    try:
        channel.sendmsg([data], ancillary, socket.MSG_NOSIGNAL)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise ChannelClosedError("the other side closed the channel") from error


def receive(channel: socket.socket) -> tuple[dict[str, Any], int | None]:
    """Receives one message and the file that came with it, which the caller closes.

    Raises:
        ChannelClosedError: at the end of the connection.
        ValueError: for a message of an unknown form.
    """
    try:
        data, files, flags, _ = socket.recv_fds(channel, _MAX_MESSAGE_BYTES, 4, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError as error:
        raise ChannelClosedError("the other side closed the channel") from error
    try:
        if not data:
            raise ChannelClosedError("the other side closed the channel")
        if len(files) > 1 or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise ValueError("a message is too long or has too many files")
        message = json.loads(data)
        if not isinstance(message, dict):
            raise ValueError(f"a message is a {type(message).__name__}, not an object")
    except BaseException:
        for file in files:
            os.close(file)
        raise
    return message, files[0] if files else None


def memory_file_of(data: Any) -> int:
    """A memory file with these bytes (bytes-like, contiguous); the caller closes it."""
    file = os.memfd_create("tricodec-input", os.MFD_CLOEXEC)
    try:
        with contextlib.closing(open(os.dup(file), "wb", buffering=0)) as output:  # noqa: PTH123
            view = memoryview(data).cast("B")
            while view:
                view = view[output.write(view) :]
    except BaseException:
        os.close(file)
        raise
    return file


def map_sealed(file: int, size: int | None) -> mmap.mmap:
    """Maps a memory file that came from a worker, for reading.

    The file is sealed against shrinking first: otherwise a worker that misbehaves could cut it short while the stub
    reads it, and the stub would die of SIGBUS.

    Args:
        file: its descriptor.
        size: how many bytes of it; None is all.

    Raises:
        ValueError: if it is shorter than `size`.
        OSError: if it cannot be sealed.
    """
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    actual = os.fstat(file).st_size
    if size is not None and actual < size:
        raise ValueError(f"a worker's memory file has {actual} bytes, {size} were announced")
    return mmap.mmap(file, actual if size is None else size, prot=mmap.PROT_READ)
