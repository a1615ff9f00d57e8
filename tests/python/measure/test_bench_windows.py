# SPDX-License-Identifier: Apache-2.0
"""When a measurement ends: warm-up, windows and the rule of stability, with a clock that the test moves."""

from __future__ import annotations

import pytest
from bench_clock import FakeClock
from tricodec.measure import bench


def measure(durations: list[float], **rules: float) -> bench.Windows:
    """A closed loop of one stream, with queries of these durations in turns."""
    fake = FakeClock()
    values = {"warm_up": 0.0, "duration": 3.0, "iterations": 1, **rules}
    return bench.run(fake.work(durations), bench.Load(), bench.Rules(**values), fake.clock)  # type: ignore[arg-type]


def test_three_equal_windows_end_the_run() -> None:
    windows = measure([0.125])

    assert windows.stable
    assert [len(window.queries) for window in windows.windows] == [8, 8, 8]
    assert [window.throughput for window in windows.windows] == [8, 8, 8]
    figures = bench.Figures.of(windows)
    assert (figures.queries, figures.seconds, figures.queries_per_second) == (24, 3, 8)
    assert (figures.difference, figures.trials) == (0, 3)
    assert figures.latency.minimum == figures.latency.maximum == 0.125


def test_windows_have_the_least_number_of_queries_even_if_that_takes_longer() -> None:
    windows = measure([2.0], iterations=10)

    assert [len(window.queries) for window in windows.windows] == [4, 4, 4]
    assert windows.windows[0].seconds == 8


def test_warm_up_does_not_count() -> None:
    # The first query takes five times as long as the others.
    windows = measure([0.5] + [0.125] * 1000, warm_up=0.2)

    assert windows.warm_up_queries == 1
    assert bench.Figures.of(windows).latency.maximum == 0.125
    assert windows.windows[0].start == 100.5


def test_windows_continue_until_three_neighbors_agree() -> None:
    # Two slow windows, then steady ones: the fifth completes three that agree.
    windows = measure([1.0, 0.5, 0.5] + [0.25] * 1000)

    assert windows.stable
    assert [window.throughput for window in windows.windows] == [1, 2, 4, 4, 4]
    assert bench.Figures.of(windows).queries_per_second == 4  # of the last three only


@pytest.mark.parametrize(("last", "stable"), [(1.1, True), (1.11, False)])
def test_windows_that_differ_by_more_than_ten_percent_are_not_stable(last: float, stable: bool) -> None:
    windows = measure([1.0, 1.0, last], max_trials=3)

    assert windows.stable is stable
    assert windows.difference == pytest.approx(last - 1)
    warnings = bench.Figures.of(windows).warnings(bench.Load())
    assert [text for text in warnings if "unstable" in text] == ([] if stable else warnings)


def test_equal_throughput_with_rising_latency_is_not_stable() -> None:
    # At a fixed rate above what the work can do, throughput is constant and queries wait longer and longer.
    fake = FakeClock()
    rules = bench.Rules(warm_up=0, duration=3, iterations=1, max_trials=4)

    windows = bench.run(fake.work([0.25]), bench.Load(rate=5.0), rules, fake.clock)

    assert {window.throughput for window in windows.windows} == {4}
    assert not windows.stable
    assert len(windows.windows) == 4


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("warm_up", -1, "warm-up -1000 ms"),
        ("duration", 0, "duration 0 s"),
        ("iterations", 0, "iterations 0"),
        ("stability", 0, "stability 0 %"),
        ("max_trials", 2, "max-trials 2"),
    ],
)
def test_rules_out_of_range_are_named(name: str, value: float, text: str) -> None:
    with pytest.raises(ValueError, match=f"{text}; accepted"):
        bench.Rules(**{name: value})  # type: ignore[arg-type]
