# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of benchmarks/encode/run.py: what is compared with what, and how often it is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results
from benchmarks.encode import run
from benchmarks.encode.goals import goals_of
from benchmarks.environment import ROOT
from benchmarks.results import Row


def runs(seconds: list[float], size: int = 1000) -> list[dict[str, float]]:
    return [{"seconds": each, "cpu_seconds": 2 * each, "bytes": size, "peak_mb": 50.0} for each in seconds]


def test_a_ratio_is_of_the_runs_next_to_each_other() -> None:
    # The machine was twice as slow in the third round, for all.
    measured = {
        "tricodec": runs([1.0, 1.0, 2.0]),
        "pyav": runs([1.2, 1.1, 2.2]),
        "ffmpeg": runs([1.3, 1.5, 2.8]),
    }

    rows = run.rows_of(Row("transcode", "libx264 144p", "", "ultrafast"), measured, 10, 10_000)
    goal, memory = goals_of(rows)

    assert (goal.against, goal.ratio) == ("pyav", pytest.approx(1.1))
    assert goal.pairs is not None
    assert (goal.pairs.low, goal.pairs.high, goal.pairs.count) == (pytest.approx(1.1), pytest.approx(1.15), 3)
    assert rows[0].cpu_ms == pytest.approx(200)
    assert rows[0].ratio == 10
    assert memory.passed


def test_another_encoder_is_shown_and_not_compared() -> None:
    measured = {"tricodec": runs([1.0]), "pyav": runs([0.5], 1100), "ffmpeg": runs([0.9])}

    rows = run.rows_of(Row("encode", "libx264 144p", "", "ultrafast"), measured, 10, 10_000)

    assert [row.against for row in rows if row.against] == ["ffmpeg"]
    assert {row.contender for row in rows} == {"tricodec", "pyav", "ffmpeg"}


@pytest.mark.parametrize(("seconds", "rounds"), [(8.0, 5), (2.0, 5), (1.0, 10), (0.1, 20)])
def test_short_runs_are_repeated_more_often(seconds: float, rounds: int) -> None:
    assert run.rounds_of(5, seconds) == rounds
    assert run.rounds_of(1, seconds) == 1


@pytest.mark.parametrize(
    ("theirs", "rounds"),
    [([1.1], 4), ([0.9], 4), ([0.9, 1.1], 16), ([0.5, 0.7], 16), ([0.98, 1.02], 5)],
    ids=["faster", "slower", "scattered", "scattered_and_slower", "nearly_known"],
)
def test_a_row_goes_on_until_its_median_is_known_to_three_percent(
    theirs: list[float], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def answer(job: dict[str, Any]) -> dict[str, float]:
        name = str(job["contender"])
        seconds = 10.0 if name == "tricodec" else 10.0 * theirs[done.count(name) % len(theirs)]
        done.append(name)
        return {"seconds": seconds, "cpu_seconds": seconds, "bytes": 1000, "peak_mb": 1.0}

    monkeypatch.setattr(run, "run_worker", answer)

    measured = run.measure({}, ["tricodec", "ffmpeg"], 4)

    assert [len(each) for each in measured.values()] == [rounds, rounds]


def test_it_starts_and_judges_every_row(tmp_path: Path) -> None:
    output = tmp_path / "encode.csv"
    command = [sys.executable, "-m", "benchmarks.encode.run", "--smoke", "--output", str(output)]

    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    _, rows = results.read(output)
    assert {row.task for row in rows} == {"encode", "transcode", "bit_rate", "latency"}
    assert all(row.value and row.cpu_ms and row.ratio for row in rows if row.task.endswith("code") and not row.against)
    assert {goal.name for goal in goals_of(rows)} == {
        "encode.libx264_144p.ultrafast",
        "memory.encode.libx264_144p.ultrafast",
        "transcode.libx264_144p.ultrafast",
        "memory.transcode.libx264_144p.ultrafast",
        "bit_rate.h264.cbr",
        "bit_rate.h264.vbr",
        "latency.h264.ultra_low_latency",
    }
