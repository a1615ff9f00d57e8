# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the GPU's benchmark, and that a contender that fails leaves the others alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "benchmarks"))

import gpu
import gpu_contests
import gpu_goals
import gpu_table


def _cell(name: str, rounds: list[float], **more: Any) -> dict[str, Any]:
    median = sorted(rounds)[len(rounds) // 2]
    return {"name": f"h264.{name}", "median": median, "rounds": rounds, "threads": 14, **more}


def _row(task: str, contender: str, **more: Any) -> dict[str, Any]:
    return {"name": f"h264.{task}", "contender": contender, **more}


def _goals(cells: list[dict[str, Any]], contests: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    rows = [goal.row() for goal in gpu_goals.goals_of("h264", cells, contests)]
    return {(row["name"], row["of"]): row for row in rows}


def test_the_limit_is_the_official_packages_and_beside_it_our_own() -> None:
    cells = [_cell("engines_7_decoders", [4900.0]), _cell("engines_14_decoders", [5000.0]), _cell("8_files", [4700.0])]
    contests = [_row("21_files_of_3000", "pynvvideocodec", median=4600.0, cpu_us_per_frame=90.0)]

    goals = _goals(cells, contests)

    official = goals["h264.8_files", "h264.21_files_of_3000.pynvvideocodec"]
    own = goals["h264.8_files", "h264.engines"]
    assert (official["ratio"], official["pass"]) == (1.022, True)
    assert (own["of_value"], own["ratio"], own["pass"]) == (5000.0, 0.94, False)


def test_the_most_that_a_file_of_twelve_groups_can_reach_stands_beside_its_goal() -> None:
    cells = [
        _cell("engines_gop250", [5000.0]),
        _cell("engines_gop250_groups", [4600.0]),
        _cell("one_file_frames_gop250", [4400.0]),
        _cell("one_file_frames", [4400.0]),
        _cell("engines_7_decoders", [5000.0]),
    ]

    goals = _goals(cells, [])

    of_groups = goals["h264.one_file_frames_gop250", "h264.engines"]
    assert (of_groups["ratio"], of_groups["of_limit"], of_groups["pass"]) == (0.88, 0.92, False)
    assert goals["h264.one_file_frames", "h264.engines"]["of_limit"] is None


def test_what_a_peer_did_not_finish_counts_with_the_most_that_it_can_have_reached() -> None:
    contests = [
        _row("1000_files_of_10", "tricodec", median=4500.0),
        _row("1000_files_of_10", "tricodec-dali", median=4000.0),
        _row("1000_files_of_10", "pynvvideocodec", at_most=900.0, problem="not done after 60 s"),
    ]

    goal = _goals([], contests)["h264.1000_files_of_10", "h264.1000_files_of_10.pynvvideocodec"]

    assert (goal["value"], goal["ratio"], goal["pass"]) == (4500.0, 5.0, True)


def test_the_best_way_of_a_peer_counts() -> None:
    rows = [
        _row("28_files_of_300", "tricodec", median=4000.0),
        _row("28_files_of_300", "pynvvideocodec", median=2000.0),
        _row("28_files_of_300", "pynvvideocodec", median=2500.0, way="clips_threaded"),
    ]

    goal = _goals([], rows)["h264.28_files_of_300", "h264.28_files_of_300.pynvvideocodec"]

    assert (goal["ratio"], goal["pass"]) == (1.6, False)


def test_the_chain_is_held_against_the_round_beside_it() -> None:
    cells = [_cell("one_file_frames", [4000.0, 5000.0, 4500.0]), _cell("one_file_batches", [4000.0, 4950.0, 4410.0])]

    goal = _goals(cells, [])["h264.chain", "decode alone"]

    assert (goal["ratio"], goal["pass"]) == (0.99, True)


@pytest.mark.parametrize(("last", "reached"), [(3000, True), (3100, False)])
def test_memory_must_stay_over_a_hundred_thousand_frames(last: int, reached: bool) -> None:
    samples = [[0, 0], [20_000, 3000], [29_000, 2990], [90_000, 2900], [125_000, last]]
    cells = [_cell("64_files", [4800.0], device_memory_mib=[last], memory_by_frames=samples)]

    goal = _goals(cells, [])["h264.memory.frames", "the first 10,000"]

    assert (goal["of_value"], goal["pass"]) == (3000, reached)
    cells[0]["memory_by_frames"] = samples[:-1]  # too few frames to say
    assert ("h264.memory.frames", "the first 10,000") not in _goals(cells, [])


def test_tests_that_failed_are_a_missed_goal() -> None:
    (goal,) = gpu_goals.check_goals({"build": True, "cpp0": True, "cpp1": True, "python": False, "alone": True})

    assert not goal.row()["pass"]
    assert gpu_goals.check_goals({"build": True}) == []


def test_what_is_measured_again_takes_the_place_of_what_was(tmp_path: Path) -> None:
    results = tmp_path / "gpu.json"
    results.write_text(
        json.dumps({
            "cells": [{"name": "h264.one_file"}, {"name": "hevc.one_file"}],
            "contests": [{"name": "h264.one_file"}, {"name": "h264.one_file_cold"}],
            "problems": ["h264.one_file pynvvideocodec: gone", "h264: no clip", "hevc: no clip"],
        })
    )  # fmt: skip

    result = gpu.earlier(results)
    gpu.forget(result, "cells", "h264")
    gpu.forget(result, "contests", "h264.one_file")

    assert result["cells"] == [{"name": "hevc.one_file"}]
    assert result["contests"] == [{"name": "h264.one_file_cold"}]
    assert result["problems"] == ["hevc: no clip"]
    assert result["runs"] == gpu.earlier(None)["runs"] == []


def test_an_update_of_one_part_leaves_the_effort_of_the_others(tmp_path: Path) -> None:
    results = tmp_path / "gpu.json"
    thorough = {"rounds": 3, "limit_s": 300}
    kept = {"commit": "a", "date": "yesterday", **thorough}
    results.write_text(json.dumps({"effort": {"rounds": 9}, "efforts": {"h264.one_file": kept, "hevc.one_file": kept}}))

    result = gpu.earlier(results)
    gpu.note_effort(
        result, "hevc.one_file", {"rounds": 1, "limit_s": 15}, {"commit": "b", "date": "today", "cores": 16}
    )

    assert result["efforts"] == {
        "h264.one_file": kept,
        "hevc.one_file": {"commit": "b", "date": "today", "rounds": 1, "limit_s": 15},
    }
    assert "effort" not in result


def test_the_table_says_after_what_time_a_peer_was_given_up() -> None:
    rows = [
        _row("1000_files_of_10", "tricodec", median=4947.0, limit_s=15.0),
        _row("1000_files_of_10", "dali", at_most=666.7, limit_s=15.0),
    ]

    table = gpu_table.peers({"contests": rows})

    assert "| 4,947 |  |  | below 667 (given up after 15 s) |" in table


def test_kernels_on_frames_of_a_read_have_a_row_of_their_own() -> None:
    case = {"transform": "resize bilinear antialiased to 224x224, rgb, uint8 CHW"}
    names = {"nv12_1080p_224_uint8_chw": 0.7, "nv12_1080p_224_of_reader_uint8_chw": 0.6}

    table = gpu_table.transforms(
        {"transform": {"cases": [{**case, "name": n, "of_copy": r} for n, r in names.items()]}}
    )

    assert "| nv12 of 1080p: resize bilinear antialiased to 224x224, rgb, CHW | 0.70 |" in table
    assert "| nv12 of 1080p, frames of a read: resize bilinear antialiased to 224x224, rgb, CHW | 0.60 |" in table


def test_the_first_frame_is_held_against_the_best_of_the_official_packages_ways() -> None:
    clips = dict.fromkeys(("gop30", "gop30_short", "gop30_long"), Path("clip.mp4"))
    contest = next(one for one in gpu.contests_of("h264", clips, gpu.QUICK) if one.name == "h264.first_frame")
    rows = [_row("first_frame", "tricodec", median=400.0)]
    rows += [_row("first_frame", "pynvvideocodec", median=speed) for speed in (2.0, 100.0, 25.0)]

    goal = _goals([], rows)["h264.first_frame", "h264.first_frame.pynvvideocodec"]

    assert contest.more == ("first_frame_reconfigured", "first_frame_packets")
    assert (goal["ratio"], goal["pass"]) == (4.0, True)


def test_a_contender_that_cannot_run_says_why(tmp_path: Path) -> None:
    """Ours has the official package's name, and is not taken for it."""
    contest = gpu_contests.Contest(
        "h264.streams", "streams", [tmp_path / "a.mp4"], 10, tmp_path / "a.mp4", 1, ("pynvvideocodec",)
    )

    (row,) = gpu_contests.hold(contest, official=None)

    assert "not the official package" in row["problem"] or "No module named" in row["problem"]
    assert row["rounds"] == []
    assert "median" not in row
