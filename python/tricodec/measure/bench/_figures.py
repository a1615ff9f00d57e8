# SPDX-License-Identifier: Apache-2.0
"""The figures of a measurement: percentiles, the knee of a sweep, and warnings about what figures do not show."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tricodec.measure.bench._load import Load, Windows

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
"""The percentiles of a report."""
_KNEE_SHARE = 0.9
_DELAYED_SECONDS = 0.001
"""A query of a rate that starts later than this after its scheduled time is delayed; timers are more exact."""
_DELAYED_SHARE = 0.01
_UNSTEADY = 0.025
"""trtexec's bound of the coefficient of variation of a GPU's computation."""
TRANSFERS = ("upload", "download")
"""Parts of a query that copy between host and device."""


def needed_values(percentile: float) -> int:
    """The number of values from which a percentile is known: at least one of them lies above it."""
    if not 0 < percentile < 100:
        raise ValueError(f"percentile {percentile:g} is not accepted; name one above 0 and below 100, such as 99")
    # The difference of two floats is not exact: 100 - 99.9 is slightly more than 0.1.
    return math.ceil(100 / (100 - percentile) - 1e-6)


def percentile_of(ordered: Sequence[float], percentile: float) -> float | None:
    """The percentile of ascending values by nearest rank: the smallest with at least this share at or below it.

    None if there are fewer than `needed_values`, because it would be the largest value by another name.
    """
    if len(ordered) < needed_values(percentile):
        return None
    # 99.9 / 100 * 1000 is 999.0000000000001 as a float, and its rank is 999.
    rank = math.ceil(percentile / 100 * len(ordered) - 1e-9)
    return ordered[max(1, rank) - 1]


@dataclass(frozen=True)
class Distribution:
    """Values of one quantity, such as latencies in seconds."""

    count: int
    minimum: float
    mean: float
    median: float
    maximum: float
    deviation: float
    """Standard deviation; 0 of a single value."""
    percentiles: dict[float, float | None]
    """By percentile of `PERCENTILES`; None where there are too few values."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Distribution:
        """Of at least one value, in any order."""
        ordered = sorted(values)
        return cls(
            count=len(ordered),
            minimum=ordered[0],
            mean=statistics.fmean(ordered),
            median=statistics.median(ordered),
            maximum=ordered[-1],
            deviation=statistics.stdev(ordered) if len(ordered) > 1 else 0.0,
            percentiles={each: percentile_of(ordered, each) for each in PERCENTILES},
        )

    @property
    def variation(self) -> float:
        """Standard deviation / mean."""
        return self.deviation / self.mean if self.mean else 0.0


def knee(values: Sequence[float], throughputs: Sequence[float]) -> float:
    """The smallest of the ascending values of a sweep with at least 90 % of the best throughput.

    A larger value gains little throughput, and its queries take longer.
    """
    enough = _KNEE_SHARE * max(throughputs)
    return next(value for value, throughput in zip(values, throughputs, strict=True) if throughput >= enough)


@dataclass(frozen=True)
class Figures:
    """The result of a measurement: the queries of its latest three windows."""

    seconds: float
    """Duration of the windows."""
    queries: int
    warm_up_queries: int
    trials: int
    """Number of windows that were measured."""
    stable: bool
    difference: float
    """How far throughputs or mean latencies of the windows differ: 0.1 is 10 %."""
    window_throughputs: tuple[float, ...]
    """Queries per second of each window."""
    latency: Distribution
    """Latencies in seconds, of all queries of the windows together."""
    parts: dict[str, Distribution]
    """Seconds of the named parts of queries."""
    frames: int
    uncompressed_bytes: int
    compressed_bytes: int
    delayed: int
    """Number of queries of a rate that started late; they count from their scheduled time."""

    @classmethod
    def of(cls, windows: Windows) -> Figures:
        """Of a run with at least one window."""
        latest = windows.latest
        queries = [query for window in latest for query in window.queries]
        names = dict.fromkeys(name for query in queries for name in query.done.parts)
        return cls(
            seconds=latest[-1].end - latest[0].start,
            queries=len(queries),
            warm_up_queries=windows.warm_up_queries,
            trials=len(windows.windows),
            stable=windows.stable,
            difference=windows.difference,
            window_throughputs=tuple(window.throughput for window in latest),
            latency=Distribution.of([query.latency for query in queries]),
            parts={
                name: Distribution.of([q.done.parts[name] for q in queries if name in q.done.parts]) for name in names
            },
            frames=sum(query.done.frames for query in queries),
            uncompressed_bytes=sum(query.done.uncompressed_bytes for query in queries),
            compressed_bytes=sum(query.done.compressed_bytes for query in queries),
            delayed=sum(query.start - query.due > _DELAYED_SECONDS for query in queries),
        )

    @property
    def queries_per_second(self) -> float:
        """Completed queries / seconds."""
        return self.queries / self.seconds

    @property
    def frames_per_second(self) -> float:
        """Completed frames / seconds."""
        return self.frames / self.seconds

    @property
    def megabytes_per_second(self) -> float:
        """Uncompressed bytes of completed queries / seconds, in 10^6 bytes."""
        return self.uncompressed_bytes / self.seconds / 1e6

    @property
    def throughput(self) -> float:
        """What a sweep compares: frames per second; without frames 10^6 bytes, without bytes queries per second."""
        return self.frames_per_second or self.megabytes_per_second or self.queries_per_second

    @property
    def ratio(self) -> float | None:
        """Uncompressed / compressed bytes; None if nothing was compressed."""
        return self.uncompressed_bytes / self.compressed_bytes if self.compressed_bytes else None

    def warnings(self, load: Load) -> list[str]:
        """What a reader of these figures, which were measured under this load, has to know."""
        found = []
        if not self.stable:
            share = "without bound" if math.isinf(self.difference) else f"by {self.difference:.1%}"
            found.append(
                f"unstable: the last three of {self.trials} windows differ {share}; "
                "use a quieter machine or a longer --duration"
            )
        if self.delayed > _DELAYED_SHARE * self.queries:
            found.append(
                f"{self.delayed} of {self.queries} queries started more than 1 ms late; the rate is too high, "
                f"--max-threads ({load.concurrency}) too low, or the machine busy"
            )
        if load.rate is None and load.concurrency > 1:
            found.append(f"{load.concurrency} queries are in flight at a time; latencies include the wait for others")
        transfers = {name: part for name, part in self.parts.items() if name in TRANSFERS}
        work = {name: part for name, part in self.parts.items() if name not in TRANSFERS}
        for name, part in transfers.items():
            if work and part.median >= sum(each.median for each in work.values()):
                found.append(f"{name} takes as long as the work itself; the transfer limits these queries")
        for name, part in work.items():
            if transfers and part.variation > _UNSTEADY:
                found.append(f"{name} varies by {part.variation:.1%} on the GPU; lock its clocks for steady figures")
        return found
