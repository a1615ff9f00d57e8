# SPDX-License-Identifier: Apache-2.0
"""Threads that fetch, for which the end of the program does not wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias

_Task: TypeAlias = "tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]"
_LINGER_S = 2.0


class FetchThreads:
    """At most so many daemon threads. They start as there is work, and end a moment after it.

    The interpreter joins the threads of a ThreadPoolExecutor at its end: after Ctrl-C a program would wait for all
    requests that a slow server was asked for.

    Thread safety: safe.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._changed = threading.Condition()
        self._tasks: deque[_Task] = deque()
        self._num_threads = self._num_idle = 0
        self._closed = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """The result of function(*arguments), which is to come."""
        future: Future[Any] = Future()
        with self._changed:
            self._tasks.append((future, function, arguments))
            if self._num_idle >= len(self._tasks):
                self._changed.notify()
            elif self._num_threads < self._most:
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
                self._num_threads += 1
        return future

    def close(self) -> None:
        """Cancels what was not begun, and ends the threads; what is on its way is not waited for."""
        with self._changed:
            self._closed = True
            while self._tasks:
                self._tasks.popleft()[0].cancel()
            self._changed.notify_all()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            future, function, arguments = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*arguments))
                except BaseException as error:  # for the reader that waits for it
                    future.set_exception(error)
            del task, future, function, arguments  # their owner alone keeps them from here on

    def _next(self) -> _Task | None:
        with self._changed:
            while not self._tasks:
                self._num_idle += 1
                woken = not self._closed and self._changed.wait(_LINGER_S)
                self._num_idle -= 1
                if not woken and not self._tasks:
                    self._num_threads -= 1
                    return None
            return self._tasks.popleft()
