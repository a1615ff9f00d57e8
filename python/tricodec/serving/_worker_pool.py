# SPDX-License-Identifier: Apache-2.0
"""WorkerPool: threads with a context each, for requests that come from many callers."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from tricodec.serving._plan import Plan
from tricodec.serving._plan_context import PlanContext
from tricodec.serving._requests import DEFAULT_MAX_QUEUE, Clock, Request, RequestQueue, RequestWorkers, check_whole
from tricodec.video.cores import num_cores

_AHEAD = 2
"""Requests of map() for each worker: one in work, and one that waits for it."""


class WorkerPool(RequestWorkers):
    """Runs a `Plan`, or a function, on threads that have a context each.

        >>> path = tricodec.sample_video()
        >>> with tricodec.WorkerPool(tricodec.Plan(path, count=4, size=(90, 160))) as pool:
        ...     future = pool.submit(path, start=100)  # the arguments of PlanContext.read
        ...     [len(video) for video in pool.map([path, path])] + [len(future.result())]
        [4, 4, 4]

    With a plan each worker calls ``read`` of a `PlanContext` of its own. So on a GPU each worker has a CUDA stream, and
    waits for no other worker's work. With a function each worker calls it with the arguments of submit(), after the
    worker's context if `context` makes one. The interpreter's lock is free while tricodec decodes.

    An error of one request is raised by its future, with its type and traceback, and concerns no other request.

    A context manager, which ends as that of `Batcher`, also in a forked child.

    Thread safety: safe.
    """

    def __init__(
        self,
        work: Plan | Callable[..., Any],
        workers: int = 0,
        *,
        context: Callable[[], Any] | None = None,
        max_queue: int = DEFAULT_MAX_QUEUE,
        queue_timeout_ms: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Start the threads.

        Args:
            work: a `Plan`, or a function.
            workers: number of threads; 0 is the plan's ``workers``, and one a core for a function.
            context: makes the context of a worker, at its first request; for functions only. If a context has a
                ``close()``, its worker calls it at the end.
            max_queue: requests that may wait for a worker, at least 1. If the queue is full, submit() waits.
            queue_timeout_ms, clock: as in `Batcher`.

        Raises:
            ValueError: a number is not accepted, or a plan has another `context`.
            TypeError: `work` is neither a plan nor a function.
        """
        check_whole("WorkerPool", "workers", workers, least=0)
        if isinstance(work, Plan):
            if context is not None:
                raise ValueError("context is given for a Plan, which has contexts of its own; leave context out")
            fn: Callable[..., Any] = PlanContext.read
            context = work.context
            workers = workers or work.workers
        elif callable(work):
            fn = work
        else:
            raise TypeError(f"work of WorkerPool is {work!r}; expected a tricodec.Plan or a function")
        self.workers = workers or num_cores()
        """Number of threads."""
        requests = RequestQueue(
            "WorkerPool", max_batch=1, max_wait_ms=0, max_queue=max_queue,
            queue_timeout_ms=queue_timeout_ms, clock=clock,
        )  # fmt: skip
        super().__init__(requests, self.workers, lambda: _worker(fn, context))

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a request: arguments of the function, or of `PlanContext.read`. Waits while the queue is full.

        Returns:
            A future of the result, as that of `Batcher.submit`, with its errors.
        """
        return self._requests.put((args, kwargs))

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a request, for coroutines, as `Batcher.run`. Raises what submit() and the work raise."""
        return await self._requests.put_async((args, kwargs))

    def map(self, items: Iterable[Any]) -> Iterator[Any]:
        """The results of one request for each item, in the order of the items.

        Two requests a worker are queued ahead, so items and results take bounded memory. What is queued is cancelled
        when the iterator is closed.

        Raises:
            Exception: what submit() and the work raise, at the item's place.
        """
        ahead: deque[Future[Any]] = deque()
        try:
            for item in items:
                ahead.append(self.submit(item))
                if len(ahead) > _AHEAD * self.workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


def _worker(fn: Callable[..., Any], make_context: Callable[[], Any] | None) -> Callable[[list[Request] | None], None]:
    """What serves requests on one thread of a pool, with the thread's context."""
    contexts: list[Any] = []

    def serve(batch: list[Request] | None) -> None:
        if batch is None:
            for context in contexts:
                with contextlib.suppress(Exception):  # no caller is left to be told
                    getattr(context, "close", lambda: None)()
            return
        (request,) = batch
        args, kwargs = request.item
        try:
            # Here, so that an error of the context is one of the request, with its type.
            if make_context is not None and not contexts:
                contexts.append(make_context())
            result = fn(*contexts, *args, **kwargs)
        except BaseException as error:
            request.future.set_exception(error)
            # The frames that hold `batch` live as long as the error, which the future holds: a cycle.
            batch.clear()
            del request
        else:
            request.future.set_result(result)

    return serve
