# SPDX-License-Identifier: Apache-2.0
"""Batcher: which items share a call, how errors are handled, and its bounds. Time is a clock that the tests advance."""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
import tricodec
from programs import run_python


class Function:
    """Doubles numbers. It notes its calls, and waits in each until the test lets it continue."""

    def __init__(self, is_held: bool = False) -> None:
        self.calls: list[list[int]] = []
        self.entered = threading.Semaphore(0)
        self._may_return = threading.Semaphore(0)
        self._is_held = is_held

    def __call__(self, items: list[int]) -> list[int]:
        self.calls.append(list(items))
        self.entered.release()
        if self._is_held:
            assert self._may_return.acquire(timeout=20)
        return [2 * item for item in items]

    def release(self, calls: int = 1) -> None:
        self._may_return.release(calls)

    def wait_until_entered(self) -> None:
        assert self.entered.acquire(timeout=20)


class FakeClock:
    """Time in seconds for objects that take a `clock`. What waits on it wakes when time or its condition changes."""

    def __init__(self) -> None:
        self._now = 0.0
        self._changed = threading.Condition()
        self._waiting: list[tuple[threading.Condition, float | None]] = []

    def now(self) -> float:
        """See tricodec's Clock."""
        with self._changed:
            return self._now

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """See tricodec's Clock."""
        with self._changed:
            entry = (condition, None if seconds is None else self._now + seconds)
            self._waiting.append(entry)
            self._changed.notify_all()
        try:
            condition.wait()
        finally:
            with self._changed:
                self._waiting.remove(entry)

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake what waits."""
        with self._changed:
            self._now += seconds
            conditions = {id(condition): condition for condition, _ in self._waiting}
        for condition in conditions.values():
            with condition:
                condition.notify_all()

    def until_waits(self, deadline: float | None) -> None:
        """Returns when a thread waits until `deadline`; None is a wait without bound."""
        with self._changed:
            found = self._changed.wait_for(lambda: any(until == deadline for _, until in self._waiting), timeout=20)
            assert found, f"no thread waits until {deadline}; there are: {[until for _, until in self._waiting]}"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def make() -> Iterator[Callable[..., tricodec.Batcher[Any, Any]]]:
    made: list[tricodec.Batcher[Any, Any]] = []

    def new(*args: Any, **kwargs: Any) -> tricodec.Batcher[Any, Any]:
        made.append(tricodec.Batcher(*args, **kwargs))
        return made[-1]

    yield new
    for batcher in made:
        batcher.close(drain=False)


def results(futures: list[Future[Any]]) -> list[Any]:
    return [future.result(timeout=20) for future in futures]


Make = Callable[..., tricodec.Batcher[Any, Any]]


def refusal_of(batcher: tricodec.Batcher[Any, Any], item: int) -> tuple[threading.Thread, list[Exception]]:
    """A thread that submits an item, and the error that it meets."""
    errors: list[Exception] = []

    def submit() -> None:
        try:
            batcher.submit(item)
        except (queue.Full, RuntimeError) as error:
            errors.append(error)

    thread = threading.Thread(target=submit)
    thread.start()
    return thread, errors


def test_a_single_item_leaves_alone_when_the_wait_is_over(make: Make, clock: FakeClock) -> None:
    double = Function()
    batcher = make(double, 4, 1000, clock=clock)

    future = batcher.submit(3)
    clock.until_waits(1.0)
    clock.advance(0.75)
    clock.until_waits(1.0)
    assert double.calls == []
    clock.advance(0.25)

    assert future.result(timeout=20) == 6
    assert double.calls == [[3]]


def test_a_full_batch_leaves_at_once_and_keeps_the_order(make: Make, clock: FakeClock) -> None:
    double = Function()
    batcher = make(double, 4, 1000, clock=clock)

    futures = [batcher.submit(item) for item in (5, 1, 4, 2)]

    assert results(futures) == [10, 2, 8, 4]
    assert double.calls == [[5, 1, 4, 2]]
    assert clock.now() == 0
    assert (batcher.num_items, batcher.num_batches) == (4, 1)


def test_one_failing_item_fails_alone(make: Make, clock: FakeClock) -> None:
    calls = []

    def invert(items: list[int]) -> list[float]:
        calls.append(items)
        return [1 / item for item in items]

    batcher = make(invert, 3, 1000, clock=clock)

    futures = [batcher.submit(item) for item in (1, 0, 4)]

    with pytest.raises(ZeroDivisionError):
        futures[1].result(timeout=20)
    assert results([futures[0], futures[2]]) == [1, 0.25]
    assert calls == [[1, 0, 4], [1], [0], [4]]


def test_submit_waits_for_room_in_a_full_queue(make: Make, clock: FakeClock) -> None:
    double = Function(is_held=True)
    batcher = make(double, 1, 0, max_queue=2, clock=clock)
    futures = [batcher.submit(0)]
    double.wait_until_entered()
    futures += [batcher.submit(item) for item in (1, 2)]

    late: list[Future[int]] = []
    thread = threading.Thread(target=lambda: late.append(batcher.submit(3)))
    thread.start()
    clock.until_waits(None)
    assert late == []
    double.release(4)
    thread.join(timeout=20)

    assert results(futures + late) == [0, 2, 4, 6]


def test_a_call_fails_when_there_is_no_room_in_time(make: Make, clock: FakeClock) -> None:
    double = Function(is_held=True)
    batcher = make(double, 1, 0, max_queue=1, queue_timeout_ms=500, clock=clock)
    futures = [batcher.submit(0)]
    double.wait_until_entered()
    futures.append(batcher.submit(1))

    thread, errors = refusal_of(batcher, 2)
    clock.until_waits(0.5)
    clock.advance(0.5)
    thread.join(timeout=20)
    double.release(2)

    assert "1 requests wait in this Batcher already (max_queue), and none left within 500 ms" in str(errors[0])
    assert results(futures) == [0, 2]
    assert double.calls == [[0], [1]]


def test_coroutines_share_batches_with_threads(make: Make, clock: FakeClock) -> None:
    double = Function()
    batcher = make(double, 3, 1000, clock=clock)
    from_thread = batcher.submit(7)

    async def main() -> list[int]:
        return await asyncio.gather(batcher.run(1), batcher.run(2))

    assert asyncio.run(main()) == [2, 4]
    assert from_thread.result(timeout=20) == 14
    assert double.calls == [[7, 1, 2]]


def test_close_without_drain_cancels_the_queue_and_refuses_what_waits_for_room(make: Make, clock: FakeClock) -> None:
    double = Function(is_held=True)
    batcher = make(double, 1, 0, max_queue=1, clock=clock)
    working = batcher.submit(0)
    double.wait_until_entered()
    queued = batcher.submit(1)
    waiting, errors = refusal_of(batcher, 2)
    clock.until_waits(None)
    closing = threading.Thread(target=batcher.close, args=(False,))
    closing.start()
    waiting.join(timeout=20)
    double.release(1)
    closing.join(timeout=20)

    assert "this Batcher is closed" in str(errors[0])
    assert queued.cancelled()
    assert working.result(timeout=0) == 0
    assert double.calls == [[0]]


def test_a_dropped_batcher_finishes_its_queue_and_ends_its_thread(clock: FakeClock) -> None:
    before = set(threading.enumerate())
    batcher = tricodec.Batcher(Function(), 4, 1000, clock=clock)
    (thread,) = set(threading.enumerate()) - before
    future = batcher.submit(1)

    del batcher
    gc.collect()
    thread.join(timeout=20)

    assert not thread.is_alive()
    assert future.result(timeout=0) == 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"max_batch": 0}, "max_batch of Batcher is 0; expected a whole number of at least 1"),
        ({"max_batch": 2.0}, "max_batch of Batcher is 2.0"),
        ({"max_batch": 8, "max_queue": 4}, "max_queue of Batcher is 4; expected a whole number of at least 8"),
        ({"max_batch": 1, "max_wait_ms": -1}, "max_wait_ms of Batcher is -1; expected milliseconds, 0 or more"),
        ({"max_batch": 1, "queue_timeout_ms": float("nan")}, "queue_timeout_ms of Batcher is nan"),
    ],
)
def test_numbers_that_are_not_accepted_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        tricodec.Batcher(list, **arguments)


def test_a_forked_child_is_told_to_make_its_own() -> None:
    result = run_python("""
        import os
        import tricodec
        batcher = tricodec.Batcher(list, 4)
        assert batcher(1) == 1
        child = os.fork()
        if not child:
            try:
                batcher.submit(2)
            except tricodec.UnsupportedError as error:
                print(error, flush=True)
            batcher.close()
            with tricodec.Batcher(list, 4) as own:
                print(own(3), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(batcher(4))
    """)

    assert "a forked child has none of its threads; make a Batcher in the child\n3\n4\n" in result.stdout, result.stderr


@pytest.mark.parametrize(("returned", "named"), [([1], "1 results"), (iter([1, 2]), "list_iterator without a length")])
def test_a_wrong_number_of_results_is_an_error_of_each_item(
    make: Make, clock: FakeClock, returned: Any, named: str
) -> None:
    batcher = make(lambda items: returned, 2, 1000, clock=clock)

    futures = [batcher.submit(1), batcher.submit(2)]

    for future in futures:
        with pytest.raises(ValueError, match=f"returned {named} for 2 items; expected one result for each"):
            future.result(timeout=20)


def test_a_coroutine_is_refused_when_there_is_no_room_in_time(make: Make) -> None:
    double = Function(is_held=True)
    batcher = make(double, 1, 0, max_queue=1, queue_timeout_ms=1)

    async def main() -> list[Any]:
        tasks = [asyncio.create_task(batcher.run(0))]
        await asyncio.to_thread(double.wait_until_entered)
        tasks += [asyncio.create_task(batcher.run(item)) for item in (1, 2)]
        await asyncio.wait([tasks[2]])
        double.release(2)
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(main())

    assert found[:2] == [0, 2]
    assert isinstance(found[2], queue.Full)
