# SPDX-License-Identifier: Apache-2.0
"""Closed and open loops: what a latency contains, streams beside each other, errors of a query."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator

import pytest
from bench_clock import FakeClock
from tricodec.measure import bench

QUICK = bench.Rules(warm_up=0, duration=0.3, iterations=3, stability=10, max_trials=3)


def test_a_rate_counts_the_wait_of_a_query_for_a_slow_one_before_it() -> None:
    # A query is due every 100 ms. One of ten takes 350 ms and delays three others; the rest take 10 ms.
    fake = FakeClock()
    rules = bench.Rules(warm_up=0, duration=3, iterations=30, stability=10)

    windows = bench.run(fake.work([0.35] + [0.01] * 9), bench.Load(rate=10.0), rules, fake.clock)

    queries = [query for window in windows.windows for query in window.queries][:10]
    assert [round(query.latency, 6) for query in queries] == [0.35, 0.26, 0.17, 0.08, *[0.01] * 6]
    assert [round(query.due - 100, 6) for query in queries] == [number / 10 for number in range(10)]
    figures = bench.Figures.of(windows)
    assert (figures.queries, figures.delayed) == (31, 9)  # three in each second are late
    assert any("9 of 31 queries started more than 1 ms late" in text for text in figures.warnings(bench.Load(rate=10)))


def test_streams_work_at_the_same_time_each_with_a_context_of_its_own() -> None:
    threads: list[int] = []
    together = threading.Barrier(4)

    @contextlib.contextmanager
    def open_work() -> Iterator[bench.Work]:
        own = threading.get_ident()
        threads.append(own)
        first = iter([True])

        def work() -> bench.Done:
            assert threading.get_ident() == own
            if next(first, False):
                together.wait(timeout=30)  # ends if four are at work at once
            time.sleep(0.005)
            return bench.Done(frames=3)

        yield work

    figures = bench.Figures.of(bench.run(open_work, bench.Load(4), QUICK))

    assert len(set(threads)) == len(threads) == 4
    assert figures.latency.minimum >= 0.005
    assert figures.frames == 3 * figures.queries


@pytest.mark.parametrize("concurrency", [1, 3])
def test_the_error_of_a_query_ends_the_run(concurrency: int) -> None:
    numbers = itertools.count()

    @contextlib.contextmanager
    def open_work() -> Iterator[bench.Work]:
        def work() -> bench.Done:
            time.sleep(0.001)
            if next(numbers) == 5:
                raise OSError("the disk is gone")
            return bench.Done()

        yield work

    with pytest.raises(OSError, match="the disk is gone"):
        bench.run(open_work, bench.Load(concurrency), bench.Rules(duration=60))


def test_named_parts_of_a_query_have_their_own_times_and_warnings() -> None:
    fake = FakeClock()
    done = bench.Done(parts={"upload": 0.3, "transform": 0.2, "download": 0.1})

    figures = bench.Figures.of(bench.run(fake.work([0.6], done), bench.Load(), bench.Rules(), fake.clock))

    assert {name: part.mean for name, part in figures.parts.items()} == pytest.approx(
        {"upload": 0.3, "transform": 0.2, "download": 0.1}
    )
    assert figures.warnings(bench.Load()) == [
        "upload takes as long as the work itself; the transfer limits these queries"
    ]
