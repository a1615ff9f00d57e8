# SPDX-License-Identifier: Apache-2.0
"""Batcher: one call of a function for the items of many callers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from tricodec.serving._requests import DEFAULT_MAX_QUEUE, Clock, Request, RequestQueue, RequestWorkers, check_whole

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(RequestWorkers, Generic[Item, Result]):
    """Collects items of threads and coroutines, and calls a function with a batch of them.

        >>> with tricodec.Batcher(lambda items: [2 * item for item in items], max_batch=8, max_wait_ms=2) as double:
        ...     double.submit(4).result(), double(21)  # from any thread; `await double.run(21)` in a coroutine
        (8, 42)

    A batch leaves when it has `max_batch` items, or `max_wait_ms` after its first item arrived. One thread calls the
    function. Items that arrive meanwhile make up the next batch, in the order of their arrival.

    One failing item fails alone. If the function raises an `Exception` for several items, it is called again with each
    item alone, so it must accept an item twice. A function that knows which item failed returns the exception in the
    place of that item's result, and is not called again.

    A context manager. After an error or Ctrl-C in the block it cancels what is queued. Ctrl-C interrupts a thread that
    waits for room or for a result, never the function. In a forked child all calls but close() raise
    `UnsupportedError`, and futures of the parent are never settled.

    Thread safety: safe.
    """

    def __init__(
        self,
        fn: Callable[[list[Item]], Sequence[Result | BaseException]],
        max_batch: int,
        max_wait_ms: float = 0.0,
        *,
        max_queue: int | None = None,
        queue_timeout_ms: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Start the thread.

        Args:
            fn: takes a list of 1 to `max_batch` items and returns a result for each, in their order: a sequence, or an
                array with the batch in its first axis.
            max_batch: items of a call, at least 1.
            max_wait_ms: time in milliseconds that an item may wait for others. With 0 a batch has what is queued.
            max_queue: items that may be queued, at least `max_batch`; None is 256, or `max_batch` if that is more. If
                the queue is full, submit() waits.
            queue_timeout_ms: time in milliseconds that a call waits for room in the queue; None is without bound, and 0
                refuses at once.
            clock: an object with ``now()``, in seconds, and ``wait(condition, seconds)``, for tests; None is the
                machine's clock.

        Raises:
            ValueError: a number is not accepted.
            TypeError: `fn` cannot be called.
        """
        if not callable(fn):
            raise TypeError(f"fn of Batcher is {fn!r}; expected a function of a list of items")
        check_whole("Batcher", "max_batch", max_batch, least=1)
        max_queue = max(DEFAULT_MAX_QUEUE, max_batch) if max_queue is None else max_queue
        requests = RequestQueue(
            "Batcher", max_batch=max_batch, max_wait_ms=max_wait_ms, max_queue=max_queue,
            queue_timeout_ms=queue_timeout_ms, clock=clock,
        )  # fmt: skip
        self._server = server = _Server(fn)
        super().__init__(requests, 1, lambda: server)

    @property
    def num_items(self) -> int:
        """Number of items that were in batches. With `num_batches` it gives the mean size of a batch."""
        return self._server.num_items

    @property
    def num_batches(self) -> int:
        """Number of batches, without the calls that repeat an item alone."""
        return self._server.num_batches

    def submit(self, item: Item) -> Future[Result]:
        """Queue an item. Waits while the queue is full.

        Returns:
            A future of the item's result. Its ``cancel()`` withdraws the item while it is queued.

        Raises:
            queue.Full: there was no room within `queue_timeout_ms`.
            RuntimeError: the Batcher is closed.
            UnsupportedError: the process is a forked child.
        """
        return self._requests.put(item)

    def __call__(self, item: Item) -> Result:
        """The result of an item. Raises what submit() and the function raise."""
        return self.submit(item).result()

    async def run(self, item: Item) -> Result:
        """The result of an item, for coroutines of any event loop. The loop runs on while the item waits.

        If the task is cancelled, the item is withdrawn while it is queued.

        Raises:
            Exception: what submit() and the function raise.
        """
        result: Result = await self._requests.put_async(item)
        return result


class _Server:
    """Serves batches on the thread of a Batcher."""

    def __init__(self, fn: Callable[[list[Any]], Sequence[Any]]) -> None:
        self._fn = fn
        self.num_items = 0
        self.num_batches = 0

    def __call__(self, batch: list[Request] | None) -> None:
        if batch is not None:
            self.num_items += len(batch)
            self.num_batches += 1
            self._run(batch)

    def _run(self, batch: list[Request]) -> None:
        try:
            results = self._fn([request.item for request in batch])
        except BaseException as error:
            if len(batch) > 1 and isinstance(error, Exception):
                for request in batch:
                    self._run([request])
            else:
                for request in batch:
                    request.future.set_exception(error)
            # The frames that hold `batch` live as long as the error, which the futures hold: a cycle.
            batch.clear()
            del request
            return
        try:
            number = len(results)
        except TypeError:
            number = -1
        if number != len(batch):
            given = f"{type(results).__name__} without a length" if number < 0 else f"{number} results"
            text = f"fn of Batcher returned {given} for {len(batch)} items; expected one result for each, in order"
            for request in batch:
                request.future.set_exception(ValueError(text))
            return
        for request, result in zip(batch, results, strict=True):
            if isinstance(result, BaseException):
                request.future.set_exception(result)
            else:
                request.future.set_result(result)
