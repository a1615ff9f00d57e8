# SPDX-License-Identifier: Apache-2.0
"""Bytes that a request and its answer take on the wire, counted between client and server."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType

_READ_BYTES = 1 << 20


class Relay:
    """Passes the connections to a port of this machine on to a server, and counts the bytes of both directions.

    Attributes:
        url: the address for clients, "HOST:PORT".
        num_bytes: counted so far.
    """

    def __init__(self, url: str) -> None:
        """Args: url is the address of the server."""
        host, _, port = url.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.num_bytes = 0
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Relay:
        """The relay itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends all connections."""
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_READ_BYTES):
                with self._lock:
                    self.num_bytes += len(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
