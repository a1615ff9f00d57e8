# SPDX-License-Identifier: Apache-2.0
"""The process that reads remote sources for the core's threads: it waits for them, and never they for Python's lock.

Its first socket brings connections as file descriptors, from any thread of the process that started it and from forked
children. Each connection has a thread here. A request is three int64: an operation, an offset, a size; an answer is
two: whether it failed, and a size. Bytes follow where the operation has some. The other side is
core/media/served_source.cpp.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import struct
import threading
from typing import Any

from tricodec.errors import UnsupportedError

OPEN, READ, WILL_READ, ADD, WILL_READ_ON = range(5)
REQUEST, ANSWER = struct.Struct("=3q"), struct.Struct("=2q")
_RANGE = struct.Struct("=2q")
_MOST_TEXT = 1 << 16
_KEY_BYTES = 64


class Sources:
    """Sources by their keys, and how many connections read each. Thread safety: safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: dict[str, Any] = {}
        self._num_readers: dict[str, int] = {}

    def add(self, key: str, source: Any) -> None:
        """Takes a source; what it has by a key stays."""
        with self._lock:
            self._sources.setdefault(key, source)

    def borrow(self, key: str) -> Any:
        """A source for one more reader."""
        with self._lock:
            if key not in self._sources:
                raise UnsupportedError("this remote source is of another process; make the pipeline where it runs")
            self._num_readers[key] = self._num_readers.get(key, 0) + 1
            return self._sources[key]

    def give_back(self, key: str) -> None:
        """Ends a reader; with the last one what was fetched is forgotten."""
        with self._lock:
            self._num_readers[key] -= 1
            if self._num_readers[key] == 0:
                del self._num_readers[key]
                self._sources[key].close()


def run(first: socket.socket) -> None:
    """Serves until all processes that have the other end of `first` are gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program; this process ends with it
    sources = Sources()
    while True:
        byte, descriptors, _, _ = socket.recv_fds(first, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not byte:
            os._exit(0)  # threads that wait for a store are not waited for
        for descriptor in descriptors:
            connection = socket.socket(fileno=descriptor)
            threading.Thread(target=_serve, args=(connection, sources), daemon=True).start()


def _serve(connection: socket.socket, sources: Sources) -> None:
    key, file = None, None
    with connection, connection.makefile("rb") as requests:
        try:
            while len(request := requests.read(REQUEST.size)) == REQUEST.size:
                operation, offset, size = REQUEST.unpack(request)
                more = b"" if operation == READ else requests.read(size)
                try:
                    if operation == ADD:
                        sources.add(more[:_KEY_BYTES].decode(), pickle.loads(more[_KEY_BYTES:]))
                        answer: Any = b""
                    elif operation == OPEN:
                        source = sources.borrow(more.decode())
                        key = more.decode()
                        file = source.open()
                        connection.sendall(ANSWER.pack(0, source.size_bytes))
                        continue
                    elif operation == WILL_READ:
                        assert file is not None
                        with contextlib.suppress(Exception):  # the read itself reports it
                            file.will_read(_RANGE.iter_unpack(more))
                        continue
                    elif operation == WILL_READ_ON:
                        assert file is not None
                        file.seek(offset)
                        with contextlib.suppress(Exception):
                            file.will_read_on()
                        continue
                    else:
                        assert file is not None
                        file.seek(offset)
                        answer = file.lend(size)[:size]
                except Exception as error:  # the source's own, for the reader
                    text = f"{type(error).__name__}\n{error}".encode(errors="replace")[:_MOST_TEXT]
                    connection.sendall(ANSWER.pack(1, len(text)) + text)
                else:
                    connection.sendall(ANSWER.pack(0, len(answer)))
                    connection.sendall(answer)
        except ConnectionError:  # the reader is gone
            pass
        finally:
            if key is not None:
                sources.give_back(key)
