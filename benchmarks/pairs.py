# SPDX-License-Identifier: Apache-2.0
"""Ratios of runs right after each other: in which order those run, and how well the median of their ratios is known.

A processor may have two speeds that last from seconds to minutes. Two neighboring runs mostly meet the same speed, and
the median of many pairs leaves out those between which it changed.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

#: How well the median of the ratios is to be known.
KNOWN_TO = 0.03
#: How far apart the quartiles of ratios are here at least if there are many: a few can agree by chance.
LEAST_SPREAD = 0.06
#: How far single figures of the same cell, and so single ratios, have been off on a virtual machine.
_SAFE = 1.25
FEWEST_PAIRS = 3


@dataclasses.dataclass(frozen=True)
class Spread:
    """The median of some values, their quartiles, and how many they are."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least one value."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0], 1)
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high, len(values))

    def half_width(self, least_spread: float = 0.0) -> float:
        """How far from the true median this one is at most, in 95 cases of 100.

        Source: McGill, Tukey, Larsen, Variations of box plots (1978): 1.57 IQR / sqrt(n).
        """
        return float(1.57 * max(self.high - self.low, least_spread) / self.count**0.5)

    @property
    def is_vague(self) -> bool:
        """True if the median is not known to 3 %; never of a single value."""
        return self.count > 1 and self.half_width() > KNOWN_TO

    def excludes(self, target: float, least_spread: float = LEAST_SPREAD) -> bool:
        """Whether the pairs say on which side of the target the ratio is; one or two do if they are far from it."""
        if self.count < FEWEST_PAIRS:
            return self.low > _SAFE * target or self.high < target / _SAFE
        return abs(self.median - target) > self.half_width(least_spread * target)


def turn(ours: Sequence[Any], peers: Sequence[Any], number: int) -> list[Any]:
    """An order in which each peer stands beside each of ours; in every second turn it is the other way round.

    Two peers share a run of ours, one before it and one after it.
    """
    order: list[Any] = []
    for our in ours:
        for first in range(0, len(peers), 2):
            before, *after = peers[first : first + 2]
            order += [before, our, *after]
    return order[::-1] if number % 2 else order
