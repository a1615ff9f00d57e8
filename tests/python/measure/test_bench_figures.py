# SPDX-License-Identifier: Apache-2.0
"""Percentiles, differences and knees on lists with known answers."""

from __future__ import annotations

import statistics

import pytest
from tricodec.measure import bench


@pytest.mark.parametrize(
    ("count", "percentile", "expected"),
    [
        (1, 50, None),
        (2, 50, 1),
        (9, 90, None),
        (10, 90, 9),
        (99, 99, None),
        (100, 99, 99),
        (101, 99, 100),
        (999, 99.9, None),
        (1000, 99.9, 999),
        (2000, 99.9, 1998),
    ],
)
def test_a_percentile_is_the_nearest_rank_and_is_refused_of_too_few(
    count: int, percentile: float, expected: int | None
) -> None:
    assert bench.percentile_of(range(1, count + 1), percentile) == expected


def test_a_distribution_has_the_moments_of_its_values_in_any_order() -> None:
    values = [float(number * 37 % 101) for number in range(101)]

    found = bench.Distribution.of(values)

    assert (found.count, found.minimum, found.maximum, found.median) == (101, 0, 100, 50)
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert found.deviation == pytest.approx(statistics.stdev(values))
    assert found.variation == pytest.approx(statistics.stdev(values) / 50)
    assert found.percentiles == {50.0: 50, 90.0: 90, 95.0: 95, 99.0: 99, 99.9: None}


def test_the_knee_is_the_smallest_value_with_nine_tenths_of_the_best() -> None:
    batches = [1, 2, 4, 8, 16, 32]

    assert bench.knee(batches, [10, 19, 36, 60, 64, 66]) == 8
    assert bench.knee(batches, [100, 90, 80, 70, 60, 50]) == 1
    assert bench.knee(batches, [1, 2, 4, 8, 16, 32]) == 32
    assert bench.knee([1, 2], [90, 100]) == 1
    assert bench.knee([1, 2], [89, 100]) == 2
