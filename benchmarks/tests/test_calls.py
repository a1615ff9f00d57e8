# SPDX-License-Identifier: Apache-2.0
"""What a call costs: both programs measure the same work, and figures above their bounds are goals that are missed."""

from __future__ import annotations

from pathlib import Path

import pytest
from media import generated

from benchmarks import calls
from benchmarks.environment import ROOT


@pytest.fixture(scope="module")
def program() -> Path:
    """The C++ program of the build that is there."""
    return next(ROOT.glob("build/*/benchmarks/cpp/tricodec_call_cost"))


def test_both_programs_give_the_time_of_each_call(program: Path) -> None:
    python, cpp = calls.compare(program, generated("h264_bframes.mp4"), 2)

    assert len(python) == len(cpp) == 2
    assert all(time > 0 for time in python + cpp)


def test_calls_that_do_nothing_are_timed() -> None:
    idle = calls.idle_calls(generated("h264_bframes.mp4"))

    assert len(idle) == 3
    assert all(microseconds > 0 for microseconds in idle.values())


@pytest.mark.parametrize(
    ("python", "idle", "missed"),
    [(104.0, 19.0, []), (106.0, 19.0, ["a batch from Python beside C++"]), (100.0, 21.0, ["a call"])],
)
def test_figures_above_their_bounds_are_missed(python: float, idle: float, missed: list[str]) -> None:
    rows = list(calls.rows([python] * 4, [100.0] * 4, {"a call": idle}, "clip"))

    assert [goal.name for goal in calls.goals(rows) if not goal.passed] == missed
