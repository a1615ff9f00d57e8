# SPDX-License-Identifier: Apache-2.0
"""Queries in windows of time: when a measurement is long enough, and when it is stable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tricodec.measure.bench._statistics import difference

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
        throughputs = difference([window.throughput for window in self.latest])
        return max(throughputs, difference([window.mean_latency for window in self.latest]))

    @property
    def stable(self) -> bool:
        """Whether three windows exist that agree."""
        return len(self.windows) >= NUM_WINDOWS and self.difference <= self._rules.stability
