# SPDX-License-Identifier: Apache-2.0
"""Ranges of the command line, sweeps with their knees, and the highest load within a latency."""

from __future__ import annotations

import contextlib

import pytest
from bench_clock import FakeClock
from tricodec.measure import bench

RULES = bench.Rules(warm_up=0.5, duration=3, iterations=10)


def session(rules: bench.Rules = RULES) -> bench.Session:
    """A session with an engine of one worker: a query takes 10 ms and 1 ms for each frame of its batch."""
    fake = FakeClock()

    def open_work(batch: int, threads: int) -> contextlib.AbstractContextManager[bench.Work]:
        return fake.work([0.01 + 0.001 * batch], bench.Done(frames=batch))()

    engine = bench.Engine("simulated", "nothing", {"input": "none"}, open_work, profiled=False)
    return bench.Session(engine, rules, clock=fake.clock)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("4", [4]),
        ("1,2,8", [1, 2, 8]),
        ("1:4", [1, 2, 3, 4]),
        ("1:8:3", [1, 4, 7]),
        ("1:64:x2", [1, 2, 4, 8, 16, 32, 64]),
        ("3:50:x4", [3, 12, 48]),
    ],
)
def test_a_range_has_the_values_of_its_form(text: str, values: list[int]) -> None:
    assert bench.parse_range(text, int) == values


@pytest.mark.parametrize("text", ["", "0", "-1", "2,1", "1,1", "8:1", "1:8:0", "1:8:x1", "1:2:3:4", "a", "1:1000000"])
def test_a_range_that_is_not_accepted_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not accepted; write a positive number") as error:
        bench.parse_range(text, int)
    assert str(error.value).startswith(repr(text))


def test_the_highest_rate_within_a_latency_is_that_of_the_simulated_server() -> None:
    # A worker that takes 10 ms serves 100 queries per second; above that they wait longer and longer.
    measuring = session()

    found = measuring.search(bench.cases_of(rates=bench.parse_range("20:200:20", float), max_threads=1), 15, 99)

    assert found.case is not None
    assert found.case.load.rate == 100
    assert measuring.stable  # an overloaded rate has no steady latency, which is what the search looks for
    assert min(each.figures.queries for each in measuring.results) >= 100
    assert len(measuring.results) <= 4  # of ten rates


def test_a_sweep_measures_every_combination_and_names_each_knee() -> None:
    measuring = session()

    for case in bench.cases_of(threads=(1, 2), batch=bench.parse_range("1:128:x2", int)):
        measuring.measure(case)

    # batch / (10 + batch) is at least nine tenths of its value at 128 from 64 on.
    cases = [(each.case.threads, each.case.batch) for each in measuring.results]
    assert cases == [(threads, batch) for threads in (1, 2) for batch in (1, 2, 4, 8, 16, 32, 64, 128)]
    knees = [(each.dimension, each.value, each.others) for each in measuring.knees()]
    assert [knee for knee in knees if knee[0] == "batch"] == [
        ("batch", 64, {"threads": 1, "concurrency": 1}),
        ("batch", 64, {"threads": 2, "concurrency": 1}),
    ]
    assert {knee[1] for knee in knees if knee[0] == "threads"} == {1}
    assert measuring.results[6].figures.frames_per_second == pytest.approx(64 / 0.074)
