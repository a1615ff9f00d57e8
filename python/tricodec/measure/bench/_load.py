# SPDX-License-Identifier: Apache-2.0
"""Queries under load, some in flight at a time or at a fixed rate, and the windows of time that they end in."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple

NUM_WINDOWS = 3
"""The latest windows that must agree; a result is made of their queries."""


@dataclass(frozen=True)
class Done:
    """What one query did. An engine returns it."""

    frames: int = 0
    uncompressed_bytes: int = 0
    compressed_bytes: int = 0
    parts: Mapping[str, float] = field(default_factory=dict)
    """Seconds of named parts of the query: "upload", "download", ..."""


class Query(NamedTuple):
    """One query with its times in seconds of the run's clock."""

    due: float
    """When the query was to begin: the scheduled time at a fixed rate, else `start`."""
    start: float
    end: float
    done: Done

    @property
    def latency(self) -> float:
        """Seconds from `due` to the end, so a delay before the start counts."""
        return self.end - self.due


@dataclass(frozen=True)
class Rules:
    """How long a measurement takes."""

    warm_up: float = 0.2
    """Seconds of queries that do not count; 0 leaves them out."""
    duration: float = 3.0
    """Least seconds of the three windows together."""
    iterations: int = 10
    """Least number of queries in the three windows together."""
    stability: float = 0.10
    """The share by which throughputs and mean latencies of three windows may differ."""
    max_trials: int = 10
    """The greatest number of windows."""

    def __post_init__(self) -> None:
        wrong = [
            (self.warm_up < 0, f"warm-up {self.warm_up * 1000:g} ms; accepted: 0 or more"),
            (self.duration <= 0, f"duration {self.duration:g} s; accepted: more than 0"),
            (self.iterations < 1, f"iterations {self.iterations}; accepted: 1 or more"),
            (self.stability <= 0, f"stability {self.stability * 100:g} %; accepted: more than 0"),
            (self.max_trials < NUM_WINDOWS, f"max-trials {self.max_trials}; accepted: {NUM_WINDOWS} or more"),
        ]
        for refused, message in wrong:
            if refused:
                raise ValueError(message)


@dataclass(frozen=True)
class Window:
    """Queries that ended in a period of time, which starts and ends with the end of a query."""

    start: float
    end: float
    queries: tuple[Query, ...]

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def throughput(self) -> float:
        """Queries per second."""
        return len(self.queries) / self.seconds

    @property
    def mean_latency(self) -> float:
        """Mean latency in seconds."""
        return sum(query.latency for query in self.queries) / len(self.queries)


class Windows:
    """Sorts queries into warm-up and windows until the latest three windows agree.

    A query belongs to the window in which it ends. A window starts at the end of the query that ended the one before
    it, so no part of a query is lost or counted twice.

    The first query starts at `start`. The warm-up has at least as many queries as are in flight, which `concurrency`
    says.

    Thread safety: none; the caller holds a lock.
    """

    def __init__(self, rules: Rules, start: float, concurrency: int = 1) -> None:
        self._rules = rules
        self._start = start
        self._least_warm_up = concurrency
        self._warm = rules.warm_up == 0
        self._open: list[Query] = []
        self.warm_up_queries = 0
        """Number of queries that did not count."""
        self.windows: list[Window] = []
        """Complete windows."""
        self.finished = False
        """Whether the windows are stable, or there are as many as the rules allow."""

    def add(self, query: Query) -> bool:
        """Take a query that has ended, and return whether the run continues."""
        if not self._warm:
            self.warm_up_queries += 1
            if query.end - self._start >= self._rules.warm_up and self.warm_up_queries >= self._least_warm_up:
                self._warm, self._start = True, query.end
            return True
        self._open.append(query)
        long_enough = query.end - self._start >= self._rules.duration / NUM_WINDOWS
        if long_enough and len(self._open) * NUM_WINDOWS >= self._rules.iterations:
            self.windows.append(Window(self._start, query.end, tuple(self._open)))
            self._start, self._open = query.end, []
            # Only here: it reads every query of three windows, which would take longer than a short query.
            self.finished = self.stable or len(self.windows) >= self._rules.max_trials
        return not self.finished

    @property
    def latest(self) -> tuple[Window, ...]:
        """The latest windows, at most three."""
        return tuple(self.windows[-NUM_WINDOWS:])

    @property
    def difference(self) -> float:
        """How far throughputs or mean latencies of the latest windows differ: 0.1 is 10 %."""
        throughputs = _difference([window.throughput for window in self.latest])
        return max(throughputs, _difference([window.mean_latency for window in self.latest]))

    @property
    def stable(self) -> bool:
        """Whether three windows exist that agree."""
        return len(self.windows) >= NUM_WINDOWS and self.difference <= self._rules.stability


def _difference(values: Sequence[float]) -> float:
    """Largest / smallest - 1; infinite if one of them is 0."""
    return max(values) / min(values) - 1 if min(values) > 0 else math.inf


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
