# SPDX-License-Identifier: Apache-2.0
"""Requests that threads and coroutines hand to worker threads: a bounded queue that gives them out in batches."""

from __future__ import annotations

import itertools
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tricodec.errors import UnsupportedError

if TYPE_CHECKING:
    from typing_extensions import Self

DEFAULT_MAX_QUEUE = 256
"""As `max_queue` of the Triton models."""


class Clock:
    """The clock of the machine, which no change of its date affects. Tests pass another one, which they advance."""

    def now(self) -> float:
        """Seconds since any fixed moment."""
        return time.monotonic()

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """Wait until the condition, which is locked, is notified, or `seconds` have passed. It may return early."""
        condition.wait(seconds)


@dataclass(slots=True, eq=False)
class Request:
    """An item, and the future of its result."""

    item: Any
    future: Future[Any]
    arrived: float


Server = Callable[[list[Request] | None], None]
"""Serves batches."""


class RequestQueue:
    """Gives requests out in batches, in the order of their arrival. Thread safety: safe.

    The first `max_queue` requests are queued. Later ones wait outside: a thread waits in put(), a coroutine for its
    future.
    """

    def __init__(
        self,
        owner: str,
        *,
        max_batch: int,
        max_wait_ms: float,
        max_queue: int,
        queue_timeout_ms: float | None,
        clock: Clock | None,
    ) -> None:
        """Make an empty queue of `owner`, as messages call it. Times of coroutines are by their loop's clock."""
        check_whole(owner, "max_queue", max_queue, least=max_batch)
        for name, value in (("max_wait_ms", max_wait_ms), ("queue_timeout_ms", queue_timeout_ms or 0)):
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} of {owner} is {value!r}; expected milliseconds, 0 or more")
        self.owner = owner
        self._max_batch = max_batch
        self._max_wait = max_wait_ms / 1000
        self._max_queue = max_queue
        self._timeout = None if queue_timeout_ms is None else queue_timeout_ms / 1000
        self._clock = clock or Clock()
        self._changed = threading.Condition()
        self._waiting: deque[Request] = deque()
        self._closed = False
        self._process = os.getpid()

    @property
    def is_of_this_process(self) -> bool:
        """False in a forked child: it has no worker threads, and locks may be held for good."""
        return os.getpid() == self._process

    def put(self, item: Any) -> Future[Any]:
        """Queue an item, and wait while the queue is full. Raises what `Batcher.submit` does."""
        request = self._enter(item)
        with self._changed:
            try:
                while request in self._outside():
                    seconds = None if self._timeout is None else request.arrived + self._timeout - self._clock.now()
                    if seconds is not None and seconds <= 0:
                        raise self._full()
                    self._clock.wait(self._changed, seconds)
            finally:
                if request in self._outside():  # no time is left, or Ctrl-C in the main thread
                    self._waiting.remove(request)
        if request.future.done() and not request.future.cancelled():
            error = request.future.exception()
            if isinstance(error, QueueClosedError):
                raise error
        return request.future

    async def put_async(self, item: Any) -> Any:
        """Queue an item, and return its result. Raises what put() does; cancelling the task withdraws the item."""
        import asyncio  # loaded by every program that has coroutines, and slow to import

        request = self._enter(item)
        if self._timeout is None:
            return await asyncio.wrap_future(request.future)
        timer = asyncio.get_running_loop().call_later(self._timeout, self._expire, request)
        try:
            return await asyncio.wrap_future(request.future)
        finally:
            timer.cancel()

    def take(self) -> list[Request] | None:
        """The next batch, with futures that run; None after close()."""
        with self._changed:
            while True:
                seconds = self._seconds_to_wait()
                if seconds is None or seconds > 0:
                    self._clock.wait(self._changed, seconds)
                    continue
                if not self._waiting:
                    return None
                batch = [self._waiting.popleft() for _ in range(min(self._max_batch, len(self._waiting)))]
                self._changed.notify_all()
                # False: it was cancelled a moment ago, and its callback waits for the lock.
                batch = [request for request in batch if request.future.set_running_or_notify_cancel()]
                if batch:
                    return batch

    def close(self, drain: bool) -> None:
        """Take no more requests. Those outside fail; those in the queue are given out at once, or cancelled."""
        if not self.is_of_this_process:
            return
        with self._changed:
            self._closed = True
            outside = self._outside()
            queued = list(self._waiting)[: self._max_queue]
            self._waiting = deque(queued if drain else ())
            self._changed.notify_all()
        for request in [] if drain else queued:
            request.future.cancel()
        for request in outside:
            if request.future.set_running_or_notify_cancel():
                request.future.set_exception(self._is_closed())

    def _enter(self, item: Any) -> Request:
        if not self.is_of_this_process:
            raise UnsupportedError(
                f"this {self.owner} was made in process {self._process}, and a forked child has none of its threads; "
                f"make a {self.owner} in the child"
            )
        request = Request(item, Future(), self._clock.now())
        with self._changed:
            if self._closed:
                raise self._is_closed()
            if len(self._waiting) >= self._max_queue and self._timeout is not None and self._timeout <= 0:
                raise self._full()
            self._waiting.append(request)
            self._changed.notify_all()
        # Not bound to the request: a cycle would keep the item and the result until the next garbage collection.
        request.future.add_done_callback(self._withdraw_if_cancelled)
        return request

    def _seconds_to_wait(self) -> float | None:
        """Until a batch leaves: 0 is now, and None until something changes."""
        if self._closed or len(self._waiting) >= self._max_batch:
            return 0.0
        if not self._waiting:
            return None
        return max(0.0, self._waiting[0].arrived + self._max_wait - self._clock.now())

    def _outside(self) -> list[Request]:
        """The requests that wait for room."""
        if len(self._waiting) <= self._max_queue:
            return []
        return list(itertools.islice(self._waiting, self._max_queue, None))

    def _withdraw_if_cancelled(self, future: Future[Any]) -> None:
        if not future.cancelled():
            return
        with self._changed:
            for request in self._waiting:
                if request.future is future:
                    self._waiting.remove(request)
                    self._changed.notify_all()
                    return

    def _expire(self, request: Request) -> None:
        with self._changed:
            if request not in self._outside():
                return
            self._waiting.remove(request)
        if request.future.set_running_or_notify_cancel():
            request.future.set_exception(self._full())

    def _full(self) -> queue.Full:
        return queue.Full(
            f"{self._max_queue} requests wait in this {self.owner} already (max_queue), and none left within "
            f"{(self._timeout or 0) * 1000:g} ms (queue_timeout_ms); send fewer at a time, or raise one of the two"
        )

    def _is_closed(self) -> QueueClosedError:
        return QueueClosedError(f"this {self.owner} is closed; make another one")


class QueueClosedError(RuntimeError):
    """A request came after close()."""


class RequestWorkers:
    """Threads that serve a RequestQueue: what `Batcher` and `WorkerPool` are made of."""

    def __init__(self, requests: RequestQueue, num_threads: int, make_server: Callable[[], Server]) -> None:
        """Start the threads.

        `make_server` makes what serves batches, for each thread one. It must not refer to this object, and must settle
        the future of each request. Its last call gets None.
        """
        self._requests = requests
        # Daemons, so that a program that forgets close() ends.
        self._threads = [
            threading.Thread(
                target=_serve, args=(requests, make_server), name=f"tricodec-{requests.owner}-{n}", daemon=True
            )
            for n in range(num_threads)
        ]
        for thread in self._threads:
            thread.start()
        # The threads do not refer to this object: when the program drops it, they finish what is queued and end.
        self._finalizer = weakref.finalize(self, self._requests.close, True)

    def close(self, drain: bool = True) -> None:
        """Take no more requests, and wait for those in work. A second call does nothing.

        Args:
            drain: work on what is queued first. False cancels it.

        Requests that wait for room in the queue fail with RuntimeError. In a forked child the call returns at once.
        """
        self._finalizer.detach()
        self._requests.close(drain)
        if self._requests.is_of_this_process:
            for thread in self._threads:
                if thread is not threading.current_thread():
                    thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Closes. After an error or Ctrl-C in the block, queued requests are cancelled."""
        self.close(drain=error is None)


def check_whole(owner: str, name: str, value: int, least: int) -> None:
    """Raises ValueError unless a value is a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} of {owner} is {value!r}; expected a whole number of at least {least}")


def _serve(requests: RequestQueue, make_server: Callable[[], Server]) -> None:
    server = make_server()
    while True:
        batch = requests.take()
        server(batch)
        if batch is None:
            return
        del batch  # its items, before the wait for the next batch
