# SPDX-License-Identifier: Apache-2.0
"""The benchmarks start, their arithmetic is right, and the documents say what the results file says."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest

BENCHMARKS = media.REPOSITORY / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import driver  # noqa: E402
import goals  # noqa: E402
import peers  # noqa: E402
import plan  # noqa: E402
import schema  # noqa: E402
import table  # noqa: E402
import worker  # noqa: E402


def _cell(task: str, contender: str, values: list[float], *, cores: int = 1, rss: float = 100) -> dict[str, Any]:
    runs = [driver.Run(value, 7.0, rss, 1.0, 0.0, None) for value in values]
    failure = None if runs else "ImportError: not here"
    return schema.cell_entry(plan.Cell(task, plan.CHIEF, contender, cores, cores, 3), runs, failure)


@pytest.fixture
def valid() -> dict[str, Any]:
    cells = [
        _cell("rgb", "tricodec", [150.0, 110.0, 130.0]),
        _cell("rgb", "pyav", [100.0, 104.0]),
        _cell("rgb", "opencv", []),
        _cell("first", "tricodec", [20.0]),
        _cell("first", "pyav", [50.0]),
    ]
    exactness = [{"clip": plan.CHIEF, "contender": "tricodec", "of": 32, "wrong": []}]
    reached = [*goals.of_cells(cells), *goals.of_exactness(exactness), goals.of_equality(plan.CHIEF, 300, 300)]
    return {
        "environment": {
            "cpu": "one of a kind",
            "cores": 2,
            "memory_gb": 24.0,
            "kernel": "6.1",
            "gpu": None,
            "driver": None,
            "libraries": {"tricodec": "0.1.0", "ffmpeg": "5.1"},
            "commit": "0" * 40,
            "date": "2026-01-31T12:00:00+00:00",
            "seconds": 60.0,
        },
        "content": "noise",
        "clips": {
            plan.CHIEF: {
                "width": 1920,
                "height": 1080,
                "num_frames": 300,
                "encoder": "-c:v libx264",
                "why": "chief",
                "bytes": 1000,
                "sha256": "0" * 64,
            }
        },
        "tasks": {name: task.what for name, task in plan.TASKS.items()},
        "contenders": {
            "tricodec": {"versions": {"tricodec": "0.1.0"}, "absent": None},
            "pyav": {"versions": {"av": "18"}, "absent": None},
            "opencv": {"versions": None, "absent": "ImportError: not here"},
        },
        "cells": cells,
        "exactness": exactness,
        "goals": [goal.to_dict() for goal in reached],
    }


def _goal(content: dict[str, Any], name: str) -> dict[str, Any]:
    return next(goal for goal in content["goals"] if goal["name"] == f"{plan.CHIEF}.{name}")


def _drop_unit(content: dict[str, Any]) -> None:
    del content["cells"][0]["unit"]


def _wrong_median(content: dict[str, Any]) -> None:
    content["cells"][0]["median"] = 110.0


def _no_reason(content: dict[str, Any]) -> None:
    content["cells"][2]["failed"] = None


def _unknown_field(content: dict[str, Any]) -> None:
    content["goals"][0]["remark"] = "nearly"


def _twice(content: dict[str, Any]) -> None:
    content["cells"].append(content["cells"][0])


def _no_commit(content: dict[str, Any]) -> None:
    content["environment"]["commit"] = "main"


def _beautified_ratio(content: dict[str, Any]) -> None:
    _goal(content, "rgb.1_core")["ratio"] = 1.5


def _beautified_pass(content: dict[str, Any]) -> None:
    goal = _goal(content, "rgb.1_core")
    goal["pass"] = not goal["pass"]


def _undescribed_contender(content: dict[str, Any]) -> None:
    del content["contenders"]["opencv"]


def test_schema_accepts_what_it_makes(valid: dict[str, Any], tmp_path: Path) -> None:
    schema.write(tmp_path / "cpu.json", valid)

    assert json.loads((tmp_path / "cpu.json").read_text()) == valid
    assert valid["cells"][0]["median"] == 130.0


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_drop_unit, "unit"),
        (_wrong_median, "median"),
        (_no_reason, "reason"),
        (_unknown_field, "remark"),
        (_twice, "twice"),
        (_no_commit, "commit"),
        (_beautified_ratio, "ratio"),
        (_beautified_pass, "pass"),
        (_undescribed_contender, "contenders"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_schema_names_what_is_wrong(
    valid: dict[str, Any], damage: Callable[[dict[str, Any]], None], named: str
) -> None:
    content = copy.deepcopy(valid)
    damage(content)

    problems = schema.validate(content)

    assert len(problems) == 1
    assert named in problems[0]


def test_rates_and_times_both_have_ratios_above_one_where_tricodec_is_better(valid: dict[str, Any]) -> None:
    rgb, first = _goal(valid, "rgb.1_core"), _goal(valid, "first.1_core")

    assert (rgb["value"], rgb["peer"], rgb["peer_value"]) == (130.0, "pyav", 102.0)
    assert rgb["ratio"] == pytest.approx(130 / 102, abs=1e-4)
    assert first["ratio"] == pytest.approx(50 / 20)
    assert rgb["pass"]
    assert first["pass"]


def test_a_missed_goal_is_written_as_missed() -> None:
    cells = [_cell("nv12", "tricodec", [119.0]), _cell("nv12", "pyav", [100.0])]

    (goal, _) = goals.of_cells(cells)

    assert goal.ratio == pytest.approx(1.19)
    assert goal.target == 1.2
    assert not goal.passed


def test_goals_compare_with_the_best_setting_of_the_best_peer_but_not_with_references() -> None:
    cells = [
        _cell("yuv420p", "tricodec", [100.0]),
        _cell("yuv420p", "tricodec-copy", [90.0]),
        _cell("yuv420p", "pyav", [80.0]),
        _cell("yuv420p", "pyav-views", [95.0, 99.0, 97.0]),
        _cell("yuv420p", "ffmpeg-null", [200.0]),
    ]

    figures = goals.Figures(cells)

    assert figures.peer("yuv420p", plan.CHIEF, 1) == goals.Best("pyav-views", 97.0)
    assert figures.ours("yuv420p", plan.CHIEF, 1) == goals.Best("tricodec", 100.0)


def test_two_threads_are_compared_with_one() -> None:
    cells = [
        _cell("transform_rgb", "tricodec", [0.6]),
        _cell("transform_rgb", "tricodec", [0.32], cores=2),
        _cell("readers", "tricodec", [100.0]),
        _cell("readers", "tricodec", [170.0], cores=2),
    ]
    copies = [_cell("transform_rgb", "memcpy", [0.3]), _cell("transform_rgb", "memcpy", [0.288], cores=2)]

    found = {goal.name.partition(".")[2]: goal for goal in goals.of_cells([*cells, *copies])}

    assert found["transform_rgb"].passed
    assert found["transform_rgb"].of_limit == pytest.approx(0.5)
    assert found["transform_rgb.two_threads"].of_limit == pytest.approx(0.9)
    assert found["readers.two_threads"].of_limit is None
    assert found["transform_rgb.two_threads"].value == pytest.approx(1.875)
    assert not found["transform_rgb.two_threads"].passed
    assert found["readers.two_threads"].value == pytest.approx(1.7)


def test_memory_counts_the_fastest_way_of_each_task() -> None:
    cells = [_cell("rgb", "tricodec", [130.0], rss=151), _cell("rgb", "tricodec-batch", [90.0], rss=900)]

    (goal,) = goals.of_cells(cells)

    assert (goal.value, goal.passed) == (151, False)


def test_a_wrong_frame_is_a_missed_goal() -> None:
    results = [
        {"clip": "hevc_1080p", "contender": "tricodec", "of": 96, "wrong": [31]},
        {"clip": "hevc_1080p", "contender": "decord2", "of": 96, "wrong": [1, 2]},
    ]

    (goal,) = goals.of_exactness(results)

    assert (goal.name, goal.value, goal.passed) == ("hevc_1080p.random.wrong_frames", 1, False)


def test_every_cell_has_a_contender_with_a_way_to_do_it() -> None:
    """Registered by name in the source, as peers that are not installed here cannot be imported."""
    sources = {path.stem: path.read_text() for path in (BENCHMARKS / "peers").glob("*.py")}
    cells = plan.full((1, 2))

    ways = {
        (task, name)
        for text in sources.values()
        for task, names in re.findall(r'^@contender\("(\w+)", (.*)\)$', text, re.MULTILINE)
        for name in re.findall(r'"([^"]+)"', names)
    }
    wanted = {("tensor_antialiased" if cell.task == "readers" else cell.task, cell.contender) for cell in cells}

    assert wanted - ways == set()
    assert len(set(cells)) == len(cells)


def test_random_frames_are_the_same_for_everybody_and_differ_by_seed() -> None:
    cells = [cell for cell in plan.full((1,)) if cell.task == "random" and cell.clip == plan.CHIEF]

    assert len({cell.indices for cell in cells}) == 1
    assert len(set(cells[0].indices)) == plan.NUM_RANDOM
    assert list(cells[0].indices) == sorted(cells[0].indices)
    assert plan.random_indices(300, 1) != plan.random_indices(300, 2)


def test_run_refuses_another_amount_of_work() -> None:
    cell = plan.Cell("rgb", "tiny", "tricodec", 1, 1, 1)
    answer = {"seconds": 0.5, "frames": 60, "cpu_seconds": 0.3, "faults": 120, "peak_rss_mb": 70.0, "check": 1.0}

    run = driver.to_run(cell, answer, 0.1)

    assert (run.value, run.cpu_ms, run.faults) == (120.0, 5.0, 2.0)
    with pytest.raises(driver.Failed, match="59 frames where 60"):
        driver.to_run(cell, answer | {"frames": 59}, 0.1)


def test_times_are_of_the_request_or_of_one_frame_of_a_kernel() -> None:
    answer = {"seconds": 0.5, "frames": 32, "cpu_seconds": 0.3, "faults": 0, "peak_rss_mb": 70.0, "check": 1.0}

    request = driver.to_run(plan.Cell("random", "tiny", "tricodec", 1, 1, 1), answer, 0.0)
    kernel = driver.to_run(plan.Cell("transform_rgb", "tiny", "tricodec", 1, 1, 1), answer | {"frames": 1000}, 0.0)

    assert request.value == 500.0
    assert kernel.value == 0.5


def test_batches_count_as_their_frames() -> None:
    frame = np.zeros((4, 5, 3), np.uint8)
    batch = np.zeros((7, 3, 4, 5), np.float32)

    assert [worker.size_of(item) for item in (frame, batch, (frame, frame), None)] == [1, 7, 1, 1]
    assert len(worker.frames_in(batch)) == 7


def test_peers_normalize_as_a_transform_does() -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (224, 224, 3), np.uint8)
    out = np.empty((3, 224, 224), np.float32)

    peers.normalized(rgb, out)

    expected = ((rgb / 255 - peers.MEAN) / peers.STD).transpose(2, 0, 1)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    assert [len(batch) for batch in peers.batches(iter([rgb] * 35))] == [16, 16, 3]


def test_another_frame_is_told_from_the_right_one() -> None:
    pictures = np.repeat(np.arange(9, dtype=np.float32) * 2 + 100, 36 * 64 * 3).reshape(9, 36, 64, 3)
    right = np.full((180, 320, 3), 108, np.uint8)

    assert not worker._like_another(right, 4, pictures)
    assert worker._like_another(right, 5, pictures)
    assert worker._like_another(np.full((180, 320, 3), 112, np.uint8), 4, pictures)


def test_results_have_the_format() -> None:
    assert schema.validate(json.loads(table.RESULTS.read_text())) == []


def test_results_of_a_gpu_say_of_each_goal_what_its_figures_say() -> None:
    path = BENCHMARKS / "results" / "gpu.json"
    goals_of_gpu = json.loads(path.read_text())["goals"] if path.exists() else []

    for goal in goals_of_gpu:
        ratio = goal["value"] / goal["of_value"]
        assert goal["ratio"] == pytest.approx(ratio, abs=1e-3)
        target = goal["target"]  # none: it is shown
        reached = target is None or (ratio >= target if goal["at_least"] else ratio <= target)
        assert goal["pass"] == reached


def test_results_are_judged_by_the_goals_of_this_tree() -> None:
    content = json.loads(table.RESULTS.read_text())

    again = [*goals.of_exactness(content["exactness"]), *goals.of_cells(content["cells"], content.get("pairs", ()))]

    assert [goal.to_dict() for goal in again] == [
        goal for goal in content["goals"] if not goal["name"].endswith(".frames_equal_to_ffmpeg")
    ]


def test_documents_say_what_the_results_say() -> None:
    assert table.outdated() == []


def test_table_is_rendered_between_its_markers_only(valid: dict[str, Any]) -> None:
    block = table.summary(valid)
    document = (
        "# Title\n\n<!-- performance: written by benchmarks/table.py -->\nold\n<!-- end of performance -->\n\nrest"
    )

    text = table.replaced(document, "performance", block)

    assert text.startswith("# Title\n\n<!-- performance")
    assert text.endswith("<!-- end of performance -->\n\nrest")
    assert "old" not in text
    assert "| every frame, RGB uint8 HWC | 130 fps | 102 fps (pyav) | 1.27x | - | - | - |" in text
    assert "| open to first RGB frame | 20 ms | 50 ms (pyav) | 2.50x | - | - | - |" in text
    assert table.replaced(text, "performance", block) == text
    with pytest.raises(ValueError, match="0 blocks"):
        table.replaced("# Title", "performance", block)


def test_absent_contenders_and_missed_goals_are_shown(valid: dict[str, Any]) -> None:
    text = table.everything(valid)

    assert "| `opencv` | absent: ImportError: not here |" in text
    assert "none: ImportError: not here" in text
    assert text.count("**no**") == sum(not goal["pass"] for goal in valid["goals"])


def test_every_task_starts_and_gives_the_right_frames(tmp_path: Path) -> None:
    output = tmp_path / "cpu.json"

    result = subprocess.run(
        [sys.executable, BENCHMARKS / "run.py", "--once", "--output", output],
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stdout + result.stderr
    content = json.loads(output.read_text())
    assert schema.validate(content) == []
    measured = {cell["task"] for cell in content["cells"] if cell["contender"] == "tricodec" and cell["runs"]}
    assert measured == set(plan.TASKS)
    by_name = {goal["name"]: goal for goal in content["goals"]}
    assert by_name["tiny.frames_equal_to_ffmpeg"]["value"] == 60
    assert by_name["tiny.random.wrong_frames"]["value"] == 0


def test_a_contender_that_is_not_here_is_reported(tmp_path: Path) -> None:
    """As the process that would measure it sees it: with an import that fails."""
    (tmp_path / "av.py").write_text("raise ImportError('libx.so.1: cannot open shared object file')")
    request = {"contender": "pyav", "task": "versions"}

    result = subprocess.run(
        [sys.executable, BENCHMARKS / "worker.py", json.dumps(request)],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(result.stdout) == {"failed": "ImportError: libx.so.1: cannot open shared object file"}
