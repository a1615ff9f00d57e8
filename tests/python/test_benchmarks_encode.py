# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of benchmarks/encode.py: what is compared with what, and how often it is measured."""

from __future__ import annotations

import sys
from typing import Any

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "benchmarks"))

import encode


def contender(seconds: list[float], size: int = 1000) -> dict[str, Any]:
    median = sorted(seconds)[len(seconds) // 2]
    return {"seconds": seconds, "median": median, "cpu_seconds": 2 * median, "bytes": size}


def test_a_ratio_is_of_the_runs_that_stand_side_by_side() -> None:
    # The machine was twice as slow in the third round, for all.
    figures = {
        "tricodec": contender([1.0, 1.0, 2.0]),
        "pyav": contender([1.2, 1.1, 2.2]),
        "ffmpeg": contender([1.3, 1.5, 2.8]),
    }

    row = encode.compare({}, figures)

    assert row["best_peer"] == "pyav"
    assert row["ratio"] == pytest.approx(1.1)
    assert row["ratio_quartiles"] == pytest.approx([1.1, 1.15])
    assert row["cpu_ratio"] == pytest.approx(1.2)
    assert row["rounds"] == 3


def test_another_encoder_is_shown_and_not_compared() -> None:
    figures = {"tricodec": contender([1.0]), "pyav": contender([0.5], 1100), "ffmpeg": contender([0.9])}

    row = encode.compare({}, figures)

    assert row["compared"] == ["ffmpeg"]
    assert row["ratio"] == pytest.approx(0.9)
    assert row["ratio_quartiles"] == pytest.approx([0.9, 0.9])


@pytest.mark.parametrize(("seconds", "rounds"), [(8.0, 5), (2.0, 5), (1.0, 10), (0.1, 20)])
def test_short_runs_are_repeated_more_often(seconds: float, rounds: int) -> None:
    assert encode.rounds_of(5, seconds) == rounds
    assert encode.rounds_of(1, seconds) == 1


@pytest.mark.parametrize(
    ("theirs", "rounds"),
    [([1.1], 4), ([0.9], 4), ([0.9, 1.1], 16), ([0.5, 0.7], 16), ([0.98, 1.02], 5)],
    ids=["faster", "slower", "scattered", "scattered_and_slower", "nearly_known"],
)
def test_a_row_goes_on_until_its_median_is_known_to_three_percent(
    theirs: list[float], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def run(job: dict[str, Any]) -> dict[str, float]:
        name = str(job["contender"])
        seconds = 10.0 if name == "tricodec" else 10.0 * theirs[done.count(name) % len(theirs)]
        done.append(name)
        return {"seconds": seconds, "cpu_seconds": seconds, "bytes": 1000, "peak_mb": 1.0}

    monkeypatch.setattr(encode, "run_worker", run)

    figures = encode.measure({}, ["tricodec", "ffmpeg"], 4)

    assert [len(each["seconds"]) for each in figures.values()] == [rounds, rounds]
