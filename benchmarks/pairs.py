# SPDX-License-Identifier: Apache-2.0
"""Ratios of runs that stand side by side: in which order those run, and how well the median of their ratios is known.

A processor may have two speeds that last from seconds to minutes. Two runs right after each other mostly meet the
same one, whichever it is, and of many pairs the median leaves out those between which it changed.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

#: How well the median of the ratios is to be known.
KNOWN_TO = 0.03


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


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile."""
    if len(values) == 1:
        return (values[0],) * 3
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def half_width(ratios: Sequence[float], *, least_spread: float = 0.0) -> float:
    """How far from the true one the median of so many ratios is at most, in 95 cases of 100.

    Source: McGill, Tukey, Larsen, Variations of box plots (1978): 1.57 IQR / sqrt(n).

    Args:
        ratios: of the pairs.
        least_spread: that the quartiles are taken to be apart if they are nearer: a few pairs can agree by chance.
    """
    low, _, high = quartiles(ratios)
    return float(1.57 * max(high - low, least_spread) / len(ratios) ** 0.5)


def is_vague(ratios: Sequence[float]) -> bool:
    """True if the median is not known to 3 %; never of a single ratio."""
    return len(ratios) > 1 and half_width(ratios) > KNOWN_TO


def excludes(ratios: Sequence[float], target: float, *, least_spread: float) -> bool:
    """True if the median is so well known that it lies on one side of the target."""
    return abs(statistics.median(ratios) - target) > half_width(ratios, least_spread=least_spread)
