# SPDX-License-Identifier: Apache-2.0
"""The connection of a process to a node."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import queue
import socket
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tricodec._tricodec import check_interrupt
from tricodec.node import _channel
from tricodec.node._start import NodeLostError

_LOOK_SECONDS = 0.1
_SETTLE_SECONDS = 1.0
_MOST_AT_ONCE = 48
"""Requests for frames, of the 64 of any kind that a node takes from a client: those of further threads wait here."""


class Lease:
    """The right to memory of a node: it lasts until the object is gone, in the process that has it."""

    def __init__(self, connection: Connection, described: dict[str, Any], file: int = -1) -> None:
        """Takes over an open file of the memory, if it came."""
        self.connection = connection
        self.number = int(described["lease"])
        self.device = str(described["device"])
        self.size = int(described["size"])
        self.shape = tuple(map(int, described["shape"]))
        self.dtype = str(described["dtype"])
        self.event = described.get("event")
        self.held = connection.hold(self, file)

    def share(self) -> tuple[Any, ...]:
        """What another process of the user makes the array of; once.

        Raises:
            NodeLostError: the node is gone.
        """
        return self.connection.path, self.connection.ask({"do": "share", "lease": self.number})[0]["token"]


Answer = tuple[dict[str, Any], Lease | None]


class _Held(weakref.ref[Lease]):
    """A lease that this process holds."""

    number: int
    file: int  # -1 after `close_file`

    def close_file(self) -> None:
        """Closes the file, when the memory is mapped or the lease is gone."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)


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
        self._room = threading.Semaphore(_MOST_AT_ONCE)
        self._held: dict[int, _Held] = {}
        self._dropped: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.is_lost = False
        self._receiver = threading.Thread(target=self._receive, name="tricodec-node", daemon=True)
        self._receiver.start()
        threading.Thread(target=self._release, name="tricodec-node-leases", daemon=True).start()

    def ask(self, message: dict[str, Any], files: Sequence[int] = (), *, seconds: float = math.inf) -> Answer:
        """Sends a request and waits for its answer. Ctrl-C takes the request back.

        Raises:
            NodeLostError: the node ended meanwhile.
            TimeoutError: it did not answer for so many seconds.
            Exception: the error of the request.
        """
        answers: queue.SimpleQueue[Answer | NodeLostError] = queue.SimpleQueue()
        answer, deadline = None, time.monotonic() + seconds
        with self._room if files else contextlib.nullcontext():  # what has no source is answered at once
            number = self.send(message, files, answers.put)
            try:
                while answer is None:
                    check_interrupt()
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"the node at {self.path!r} does not answer; end its process, and ask again")
                    with contextlib.suppress(queue.Empty):
                        answer = answers.get(timeout=_LOOK_SECONDS)
            except BaseException:
                with self._lock:
                    self._waiting.pop(number, None)
                self.tell({"do": "cancel", "request": number})
                raise
        if isinstance(answer, NodeLostError):
            raise answer
        if "failure" in answer[0]:
            raise _channel.error_of(answer[0]["failure"])
        return answer

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
                self.is_lost = True  # the receiver may notice it later, and the next request makes another connection
                raise self._lost() from error
            raise
        return number

    def tell(self, message: dict[str, Any]) -> None:
        """Sends a message without an answer; to a node that is gone it says nothing."""
        if self._process == os.getpid():
            with contextlib.suppress(OSError):
                _channel.send(self._channel, message)

    def hold(self, lease: Lease, file: int) -> _Held:
        """Gives a lease back when the object is gone. A thread does that: what this one then runs is a function of C,
        so that an exception of Ctrl-C or of another signal does not come between, where it would be lost."""
        held = _Held(lease, self._dropped.put)
        held.number, held.file = lease.number, file
        self._held[id(held)] = held
        return held

    def settle(self) -> None:
        """Waits until the node knows which leases are gone by now."""
        told = threading.Event()
        self._dropped.put(told)
        told.wait(_SETTLE_SECONDS)

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
            except OSError:
                why = self._lost()
                break
            except ValueError as error:
                why = NodeLostError(f"an answer of the node at {self.path!r} cannot be read: {error}")
                break
            lease = Lease(self, answer, *files) if "lease" in answer else None
            with self._lock:
                find = self._waiting.get if answer.get("more") else self._waiting.pop
                take = find(answer["number"], None)
            if take is not None:
                take((answer, None if "failure" in answer else lease))
            del answer, lease, take  # the next message may come late
        self.close()
        with self._lock:
            self.is_lost = True
            waiting, self._waiting = self._waiting, {}
        for take in waiting.values():
            take(why)
        self._dropped.put(None)

    def _release(self) -> None:
        while self._held or not self.is_lost:
            dropped = self._dropped.get()
            if isinstance(dropped, threading.Event):
                dropped.set()
            elif dropped is not None:
                dropped.close_file()
                del self._held[id(dropped)]
                self.tell({"do": "release", "lease": dropped.number})


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
