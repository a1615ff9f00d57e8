# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of a measurement: percentiles, how far windows differ, and the knee of a sweep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
"""The percentiles of a report."""
KNEE_SHARE = 0.9
"""The share of the best throughput that the knee of a sweep reaches."""


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


def difference(values: Sequence[float]) -> float:
    """How far the values differ: largest / smallest - 1, so 0.1 is 10 %. Infinite if one of them is 0."""
    return max(values) / min(values) - 1 if min(values) > 0 else math.inf


def knee(values: Sequence[float], throughputs: Sequence[float], share: float = KNEE_SHARE) -> float:
    """The smallest of the ascending values of a sweep with at least `share` of the best throughput.

    A larger value gains little throughput, and its queries take longer.
    """
    enough = share * max(throughputs)
    return next(value for value, throughput in zip(values, throughputs, strict=True) if throughput >= enough)
