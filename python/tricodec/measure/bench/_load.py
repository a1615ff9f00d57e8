# SPDX-License-Identifier: Apache-2.0
"""Queries under load: a number of them in flight at a time, or a fixed rate."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tricodec.measure.bench._windows import Done, Query, Rules, Windows

Work = Callable[[], Done]
"""One query; it returns when the result is complete."""

_LONGEST_SLEEP = 0.5
"""Seconds after which a thread that waits for its query looks whether the run has ended."""


@dataclass(frozen=True)
class Clock:
    """The time; tests pass another one."""

    now: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Load:
    """How queries follow one another.

    Without a rate the load is a closed loop: each stream starts its next query when its last one has ended. With a
    rate it is an open loop: queries start at scheduled times, whether others have ended or not.
    """

    concurrency: int = 1
    """Queries in flight at a time, each with a separate context; with a rate the greatest number."""
    rate: float | None = None
    """Queries per second; None is a closed loop."""


class _Run:
    """One run of a load: workers that take turns at the schedule and hand their queries to the windows."""

    def __init__(self, load: Load, rules: Rules, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._begin = threading.Barrier(load.concurrency, action=self._start)
        self._rules = rules
        self._due: Iterator[float] | None = None
        self.windows: Windows | None = None

    def _start(self) -> None:
        start, rate = self._clock.now(), self._load.rate
        if rate is not None:  # each time from the start: a sum of rounded intervals drifts
            self._due = (start + number / rate for number in itertools.count())
        self.windows = Windows(self._rules, start, self._load.concurrency if rate is None else 1)

    def work(self, open_work: Callable[[], AbstractContextManager[Work]]) -> None:
        """One worker: queries until the windows are complete or another worker has failed."""
        try:
            with open_work() as work:
                self._begin.wait()  # every context exists before the clock starts
                while not self._ended.is_set():
                    self._one(work)
        except threading.BrokenBarrierError:  # another worker could not open its context, and reports it
            return
        except BaseException:
            self._ended.set()
            self._begin.abort()
            raise

    def _one(self, work: Work) -> None:
        due = self._wait_until_due()
        if self._ended.is_set():
            return
        start = self._clock.now()
        done = work()
        end = self._clock.now()
        with self._lock:
            assert self.windows is not None
            if not self._ended.is_set() and not self.windows.add(
                Query(start if due is None else due, start, end, done)
            ):
                self._ended.set()

    def _wait_until_due(self) -> float | None:
        if self._due is None:
            return None
        with self._lock:
            due = next(self._due)
        while (wait := due - self._clock.now()) > 0 and not self._ended.is_set():
            self._clock.sleep(min(wait, _LONGEST_SLEEP))
        return due

    def stop(self) -> None:
        """Ends the workers after their current query."""
        self._ended.set()
        self._begin.abort()


def run(
    open_work: Callable[[], AbstractContextManager[Work]], load: Load, rules: Rules, clock: Clock | None = None
) -> Windows:
    """Run queries until three windows agree, or until there are as many windows as the rules allow.

    `open_work` makes the context of one stream, in its thread. The first error of a query ends the run, and is raised.
    """
    state = _Run(load, rules, clock or Clock())
    if load.concurrency == 1:  # in this thread, so that Ctrl-C interrupts the query
        state.work(open_work)
    else:
        with ThreadPoolExecutor(load.concurrency) as pool, contextlib.ExitStack() as stack:
            stack.callback(state.stop)
            for future in [pool.submit(state.work, open_work) for _ in range(load.concurrency)]:
                future.result()
    assert state.windows is not None
    return state.windows
