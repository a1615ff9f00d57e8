# SPDX-License-Identifier: Apache-2.0
"""The connection of a process to a node."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any

from tricodec._tricodec import check_interrupt
from tricodec.node import _channel
from tricodec.node._start import NodeLostError

_LOOK_SECONDS = 0.1

Answer = tuple[dict[str, Any], list[int]]


class Connection:
    """Requests to a node and their answers. Thread safety: safe. A forked child makes one of its own."""

    def __init__(self, path: str) -> None:
        """Connects.

        Raises:
            NodeLostError: no node listens.
        """
        self.path = path
        self._process = os.getpid()
        self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._channel.connect(path)
        except OSError as error:
            self._channel.close()
            raise NodeLostError(
                f"no node answers at {path!r} ({error.strerror}); start one with `tricodec node start`"
            ) from error
        weakref.finalize(self, self._channel.close).atexit = False
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Callable[[Answer | NodeLostError], None]] = {}
        self.is_lost = False
        self._receiver = threading.Thread(target=self._receive, name="tricodec-node", daemon=True)
        self._receiver.start()

    def ask(self, message: dict[str, Any], files: Sequence[int] = ()) -> Answer:
        """Sends a request and waits for its answer, with files that the caller closes. Ctrl-C takes the request back.

        Raises:
            NodeLostError: the node ended meanwhile.
            Exception: the error of the request.
        """
        future = Future[Answer]()

        def take(answer: Answer | NodeLostError) -> None:
            future.set_exception(answer) if isinstance(answer, NodeLostError) else future.set_result(answer)

        number = self.send(message, files, take)
        try:
            while not wait([future], _LOOK_SECONDS).done:
                check_interrupt()
        except BaseException:
            with self._lock:
                is_answered = self._waiting.pop(number, None) is None
            if is_answered:
                future.add_done_callback(self._let_go)
            self.tell({"do": "cancel", "request": number})
            raise
        answer, sent = future.result()
        if "failure" in answer:
            _channel.close(sent)
            raise _channel.error_of(answer["failure"])
        return answer, sent

    def send(
        self, message: dict[str, Any], files: Sequence[int], take: Callable[[Answer | NodeLostError], None]
    ) -> int:
        """Sends a request; `take` gets its answers on another thread. Returns its number.

        Raises:
            NodeLostError: the node is gone.
        """
        if self._process != os.getpid():
            raise NodeLostError("this connection is of the process that forked this one; call tricodec.node.connect()")
        number = next(self._numbers)
        with self._lock:
            if self.is_lost:
                raise self._lost()
            self._waiting[number] = take
        try:
            _channel.send(self._channel, {**message, "number": number}, files)
        except BaseException as error:
            with self._lock:
                self._waiting.pop(number, None)
            if isinstance(error, _channel.ClosedError):
                raise self._lost() from error
            raise
        return number

    def tell(self, message: dict[str, Any]) -> None:
        """Sends a message without an answer; to a node that is gone it says nothing."""
        if self._process == os.getpid():
            with contextlib.suppress(OSError):
                _channel.send(self._channel, message)

    def wait_for_end(self, seconds: float) -> None:
        """Waits until the node has closed the connection."""
        self._receiver.join(seconds)

    def close(self) -> None:
        """Ends the connection. The node takes back all that this process holds of it; its arrays stay valid."""
        self.is_lost = True  # the next request makes another one
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)

    def close_copy(self) -> None:
        """Closes the copy of the connection that a forked child has."""
        os.close(self._channel.detach())

    def _lost(self) -> NodeLostError:
        return NodeLostError(f"the node at {self.path!r} ended, and the requests it had are lost; ask again")

    def _receive(self) -> None:
        while True:
            try:
                answer, files = _channel.receive(self._channel)
            except (OSError, ValueError):
                break
            with self._lock:
                find = self._waiting.get if answer.get("more") else self._waiting.pop
                take = find(answer["number"], None)
            if take is not None:
                take((answer, files))
            else:  # its request was taken back
                self._drop(answer, files)
        self.close()
        with self._lock:
            self.is_lost = True
            waiting, self._waiting = self._waiting, {}
        for take in waiting.values():
            take(self._lost())

    def _let_go(self, future: Future[Answer]) -> None:
        if future.exception() is None:
            self._drop(*future.result())

    def _drop(self, answer: dict[str, Any], files: list[int]) -> None:
        _channel.close(files)
        if "lease" in answer:
            self.tell({"do": "release", "lease": answer["lease"]})


_connections: dict[str, Connection] = {}
_lock = threading.Lock()


def connection_to(path: str) -> Connection:
    """The connection of this process to the node at a socket, made now if there is none.

    Raises:
        NodeLostError: no node listens.
    """
    with _lock:
        connection = _connections.get(path)
        if connection is None or connection.is_lost:
            connection = _connections[path] = Connection(path)
        return connection


def _in_child() -> None:
    """A forked child has a copy of each connection, which would keep it open when the parent has ended."""
    global _lock  # noqa: PLW0603  (another thread of the parent may have held it)
    _lock = threading.Lock()
    for connection in _connections.values():
        with contextlib.suppress(OSError):
            connection.close_copy()
    _connections.clear()


os.register_at_fork(after_in_child=_in_child)
