# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the GPU's benchmark, and that a contender that fails leaves the others alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import results
from benchmarks.goals import Goal
from benchmarks.gpu import cells, contests, goals, run, table
from benchmarks.results import Row


def _cell(name: str, rounds: list[float], **more: Any) -> Row:
    return Row(name, "h264", "tricodec", unit="frames/s", **more).with_runs(rounds)


def _row(task: str, contender: str, value: float | None = None, **more: Any) -> Row:
    return Row(task, "h264", contender, value=value, unit="frames/s", **more)


def _goals(*rows: Row) -> dict[tuple[str, str], Goal]:
    return {(goal.name, goal.against): goal for goal in goals.goals_of({}, rows)}


def test_the_limit_is_the_official_packages_and_beside_it_our_own() -> None:
    found = _goals(
        _cell("engines_7_decoders", [4900.0]), _cell("engines_14_decoders", [5000.0]), _cell("8_files", [4700.0]),
        _row("21_files_of_3000", "pynvvideocodec", 4600.0, cpu_ms=0.09),
    )  # fmt: skip

    official = found["h264.8_files", "pynvvideocodec, 21_files_of_3000"]
    own = found["h264.8_files", "our decoders"]
    assert (official.ratio, official.passed) == (pytest.approx(1.022, abs=1e-3), True)
    assert (own.against_value, own.ratio, own.passed) == (5000.0, 0.94, False)


def test_the_most_that_a_file_of_twelve_groups_can_reach_is_beside_its_goal() -> None:
    found = _goals(
        _cell("engines_gop250", [5000.0]),
        _cell("engines_gop250_groups", [4600.0]),
        _cell("one_file_frames_gop250", [4400.0]),
        _cell("one_file_frames", [4400.0]),
        _cell("engines_7_decoders", [5000.0]),
    )

    of_groups = found["h264.one_file_frames_gop250", "our decoders"]
    assert (of_groups.ratio, of_groups.of_limit, of_groups.passed) == (0.88, pytest.approx(4400 / 4600), False)
    assert found["h264.one_file_frames", "our decoders"].of_limit is None


def test_a_peer_that_did_not_finish_counts_with_the_most_that_it_can_have_reached() -> None:
    found = _goals(
        _row("28_files_of_300", "tricodec", 4500.0),
        _row("28_files_of_300", "tricodec-dali", 4000.0),
        _row("28_files_of_300", "pynvvideocodec", high=900.0, note="not done after 60 s"),
    )

    goal = found["h264.28_files_of_300", "pynvvideocodec"]
    assert (goal.value, goal.ratio, goal.passed) == (4500.0, 5.0, True)


def test_the_best_way_of_a_peer_counts() -> None:
    found = _goals(
        _row("28_files_of_300", "tricodec", 4000.0),
        _row("28_files_of_300", "pynvvideocodec", 2000.0),
        _row("28_files_of_300", "pynvvideocodec", 2500.0, setting="clips_threaded"),
        _row("first_frame", "tricodec", 400.0),
        *(_row("first_frame", "pynvvideocodec", speed, setting=str(speed)) for speed in (2.0, 100.0, 25.0)),
    )

    many, first = (found[f"h264.{task}", "pynvvideocodec"] for task in ("28_files_of_300", "first_frame"))
    assert (many.ratio, many.passed) == (1.6, False)
    assert (first.ratio, first.passed) == (4.0, True)


def test_the_chain_is_compared_with_the_round_beside_it() -> None:
    chain = Row("one_file_batches", "h264", "tricodec", against="one_file_frames").with_ratios([1.0, 0.99, 0.98])

    goal = _goals(chain)["h264.chain", "decode alone"]

    assert (goal.ratio, goal.passed) == (0.99, True)


@pytest.mark.parametrize(("last", "reached"), [(3000, True), (3100, False)])
def test_memory_must_stay_over_a_hundred_thousand_frames(last: int, reached: bool) -> None:
    samples = [[0, 0], [20_000, 3000], [29_000, 2990], [90_000, 2900], [125_000, last]]

    rows = cells.memory_rows("h264", "64_files", {"memory_by_frames": samples})

    goal = _goals(*rows)["h264.memory_over_frames", "before"]
    assert goal.against_value == pytest.approx(3000 * 1.048576)
    assert goal.passed == reached
    assert cells.memory_rows("h264", "64_files", {"memory_by_frames": samples[:-1]}) == []  # too few frames to say


def test_tests_that_failed_are_a_missed_goal() -> None:
    (goal,) = goals.goals_of({"checks": "build passed, cpp0 passed, python failed, alone passed"}, [])

    assert (goal.value, goal.passed) == (2, False)
    assert goals.goals_of({"checks": "build passed"}, []) == []


def test_what_is_measured_again_takes_the_place_of_what_was(tmp_path: Path) -> None:
    path = tmp_path / "gpu.csv"
    rows = [Row(task, codec, "tricodec") for codec in ("h264", "hevc") for task in ("one_file_frames", "one_file")]
    facts = {"commit": "a", "measured h264.one_file": "yesterday, a", "checks": "python passed"}
    results.write(path, facts, rows)

    known = run.Results.earlier(path)
    known.forget("h264")
    known.forget("hevc", ["one_file"])
    known.save(1.0)

    facts, kept = results.read(path)
    assert [(row.task, row.input) for row in kept] == [("one_file", "h264"), ("one_file_frames", "hevc")]
    assert (facts["measured h264.one_file"], facts["checks"]) == ("yesterday, a", "python passed")
    assert facts["commit"] != "a"


def test_the_table_says_that_a_peer_was_given_up() -> None:
    rows = [_row("one_file", "tricodec", 4947.0), _row("one_file", "dali", high=666.7)]

    assert "| 4,947 |  |  | below 667 (given up) |" in table.peers({}, rows)


def test_kernels_on_frames_of_a_read_have_a_row_of_their_own() -> None:
    case = {"transform": "resize bilinear antialiased to 224x224, rgb, uint8 CHW", "frames": 32, "ms": [0.032]}
    names = ["nv12_1080p_224_uint8_chw", "nv12_1080p_224_of_reader_uint8_chw"]

    shown = table.transforms({}, [cells.transform_row({**case, "name": name}) for name in names])

    assert "| nv12 of 1080p: resize bilinear antialiased to 224x224, rgb, CHW | 1.00 |" in shown
    assert "| nv12 of 1080p, frames of a read: resize bilinear antialiased to 224x224, rgb, CHW | 1.00 |" in shown


def test_a_contender_that_cannot_run_says_why(tmp_path: Path) -> None:
    """Ours has the official package's name, and is not taken for it."""
    contest = contests.Contest(
        "h264", "streams", "streams", [tmp_path / "a.mp4"], 10, tmp_path / "a.mp4", 1, ("pynvvideocodec",)
    )

    (row,) = contests.hold(contest, official=None)

    assert "not the official package" in row.note or "No module named" in row.note
    assert (row.value, row.runs) == (None, 0)
