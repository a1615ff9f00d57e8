# SPDX-License-Identifier: Apache-2.0
"""The benchmark of decoding starts, its arithmetic is right, and its tables say what the rows say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import results, table
from benchmarks.decode import driver, goals, peers, plan, plot, run, worker
from benchmarks.decode import table as decode_table
from benchmarks.environment import ROOT
from benchmarks.results import Row


def _row(task: str, contender: str, values: list[float], *, cores: int = 1, rss: float = 100) -> Row:
    runs = [driver.Run(value, 7.0, rss) for value in values]
    return run.row_of(plan.Cell(task, plan.CHIEF, contender, cores, cores), runs, "" if runs else "not here")


ROWS = [
    _row("rgb", "tricodec", [150.0, 110.0, 130.0]),
    _row("rgb", "pyav", [100.0, 104.0]),
    _row("rgb", "opencv", []),
    _row("first", "tricodec", [20.0]),
    _row("first", "pyav", [50.0]),
    Row("equal", plan.CHIEF, "tricodec", value=300.0, unit="frames", runs=300),
    Row("wrong", plan.CHIEF, "tricodec", value=0.0, unit="frames", runs=32),
]
FACTS = {
    "date": "2026-01-31T12:00:00+00:00",
    "cores": "2",
    "cpu": "processor",
    "libraries": "tricodec 0.1.0, ffmpeg 5.1",
    "content": "noise",
    f"clip {plan.CHIEF}": "1920x1080",
    "contender tricodec": "tricodec 0.1.0",
    "absent opencv": "ImportError: not here",
}


def _goal(rows: list[Row], name: str) -> Any:
    return next(goal for goal in goals.of_rows(rows) if goal.name.endswith(name))


def test_rates_and_times_both_have_ratios_above_one_where_tricodec_is_better() -> None:
    rgb, first = _goal(ROWS, "rgb.1_core"), _goal(ROWS, "first.1_core")

    assert (rgb.value, rgb.against, rgb.against_value) == (130.0, "pyav", 102.0)
    assert rgb.ratio == pytest.approx(130 / 102)
    assert first.ratio == pytest.approx(50 / 20)
    assert rgb.passed
    assert first.passed


def test_a_missed_goal_is_missed() -> None:
    goal = _goal([_row("nv12", "tricodec", [119.0]), _row("nv12", "pyav", [100.0])], "nv12.1_core")

    assert goal.ratio == pytest.approx(1.19)
    assert goal.target == 1.2
    assert not goal.passed


def test_goals_compare_with_the_best_setting_of_the_best_peer_but_not_with_references() -> None:
    figures = goals.Figures([
        _row("yuv420p", "tricodec", [100.0]),
        _row("yuv420p", "tricodec-copy", [90.0]),
        _row("yuv420p", "pyav", [80.0]),
        _row("yuv420p", "pyav-views", [95.0, 99.0, 97.0]),
        _row("yuv420p", "ffmpeg-null", [200.0]),
    ])  # fmt: skip

    assert figures.peer("yuv420p", plan.CHIEF, 1) == goals.Best("pyav-views", 97.0, 100)
    assert figures.ours("yuv420p", plan.CHIEF, 1) == goals.Best("tricodec", 100.0, 100)


def test_two_threads_are_compared_with_one() -> None:
    rows = [
        _row("transform_rgb", "tricodec", [0.6]),
        _row("transform_rgb", "tricodec", [0.32], cores=2),
        _row("transform_rgb", "memcpy", [0.3]),
        _row("transform_rgb", "memcpy", [0.288], cores=2),
        _row("readers", "tricodec", [100.0]),
        _row("readers", "tricodec", [170.0], cores=2),
    ]

    assert _goal(rows, "transform_rgb").of_limit == pytest.approx(0.5)
    two = _goal(rows, "transform_rgb.two_threads")
    assert (two.ratio, two.of_limit, two.passed) == (pytest.approx(1.875), pytest.approx(0.9), False)
    assert _goal(rows, "readers.two_threads").ratio == pytest.approx(1.7)


def test_memory_counts_the_fastest_way_of_each_task() -> None:
    rows = [_row("rgb", "tricodec", [130.0], rss=151), _row("rgb", "tricodec-batch", [90.0], rss=900)]

    goal = _goal(rows, "peak_memory")

    assert (goal.value, goal.passed) == (151, False)


def test_wrong_frames_of_ours_and_frames_that_differ_from_ffmpegs_are_missed_goals() -> None:
    rows = [
        Row("wrong", "hevc_1080p", "tricodec", value=1.0, unit="frames", runs=96, note="31"),
        Row("wrong", "hevc_1080p", "decord2", value=2.0, unit="frames", runs=96),
        Row("equal", "hevc_1080p", "tricodec", value=119.0, unit="frames", runs=120),
    ]

    assert [(goal.name, goal.passed) for goal in goals.of_rows(rows)] == [
        ("hevc_1080p.random.wrong_frames", False),
        ("hevc_1080p.frames_equal_to_ffmpeg", False),
    ]


def test_every_cell_has_a_contender_with_a_way_to_do_it() -> None:
    """Registered by name in the source, as peers that are not installed here cannot be imported."""
    sources = [path.read_text() for path in Path(peers.__file__).parent.glob("*.py")]
    cells = plan.full((1, 2))

    ways = {
        (task, name)
        for text in sources
        for task, names in re.findall(r'^@contender\("(\w+)", (.*)\)$', text, re.MULTILINE)
        for name in re.findall(r'"([^"]+)"', names)
    }
    wanted = {("tensor_antialiased" if cell.task == "readers" else cell.task, cell.contender) for cell in cells}

    assert wanted - ways == set()
    assert len(set(cells)) == len(cells)


def test_random_frames_are_the_same_for_every_contender_and_differ_by_seed() -> None:
    cells = [cell for cell in plan.full((1,)) if cell.task == "random" and cell.clip == plan.CHIEF]

    assert len({cell.indices for cell in cells}) == 1
    assert len(set(cells[0].indices)) == plan.NUM_RANDOM
    assert list(cells[0].indices) == sorted(cells[0].indices)
    assert plan.random_indices(300, 1) != plan.random_indices(300, 2)


def test_run_refuses_another_amount_of_work() -> None:
    cell = plan.Cell("rgb", "tiny", "tricodec", 1, 1)
    answer = {"seconds": 0.5, "frames": 60, "cpu_seconds": 0.3, "peak_rss_mb": 70.0}

    taken = driver.to_run(cell, answer)

    assert (taken.value, taken.cpu_ms) == (120.0, 5.0)
    with pytest.raises(driver.Failed, match="59 frames where 60"):
        driver.to_run(cell, answer | {"frames": 59})


def test_times_are_of_the_request_or_of_one_frame_of_a_kernel() -> None:
    answer = {"seconds": 0.5, "frames": 32, "cpu_seconds": 0.3, "peak_rss_mb": 70.0}

    request = driver.to_run(plan.Cell("random", "tiny", "tricodec", 1, 1), answer)
    kernel = driver.to_run(plan.Cell("transform_rgb", "tiny", "tricodec", 1, 1), answer | {"frames": 1000})

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


def test_table_is_rendered_between_its_markers_only() -> None:
    block = decode_table.everything(FACTS, ROWS)
    begin, end = "<!-- performance: written by benchmarks/table.py -->\n", "<!-- end of performance -->"

    text = table.replaced(f"# Title\n\n{begin}old\n{end}\n\nrest", "performance", block)

    assert text == f"# Title\n\n{begin}{block}{end}\n\nrest"
    assert "| every frame, RGB uint8 HWC | 130 fps | 102 fps (pyav) | 1.27x | - | - | - |" in text
    assert "| open to first RGB frame | 20 ms | 50 ms (pyav) | 2.50x | - | - | - |" in text
    with pytest.raises(ValueError, match="0 blocks"):
        table.replaced("# Title", "performance", block)


def test_absent_contenders_and_missed_goals_are_shown() -> None:
    missed = [*ROWS, _row("nv12", "tricodec", [100.0]), _row("nv12", "pyav", [100.0])]

    text = decode_table.everything(FACTS, missed)

    assert "| `opencv` | absent: ImportError: not here |" in text
    assert text.count("**no**") == sum(not goal.passed for goal in goals.of_rows(missed)) == 1


def test_the_plot_has_a_bar_for_each_figure() -> None:
    drawn = plot.draw(ROWS)

    assert drawn.count("1.27x pyav") == drawn.count("2.50x pyav") == 1


def test_every_task_starts_and_gives_the_right_frames(tmp_path: Path) -> None:
    output = tmp_path / "cpu.csv"

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.decode.run", "--once", "--output", output],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    facts, rows = results.read(output)
    assert {row.task for row in rows if row.contender == "tricodec" and row.value and row.unit != "frames"} == set(
        plan.TASKS
    )
    assert "clip tiny" in facts
    found = {goal.name: goal for goal in goals.of_rows(rows)}
    assert (found["tiny.frames_equal_to_ffmpeg"].value, found["tiny.frames_equal_to_ffmpeg"].target) == (60, 60)
    assert found["tiny.random.wrong_frames"].value == 0


def test_a_contender_that_is_not_here_is_reported(tmp_path: Path) -> None:
    """As the process that would measure it sees it: with an import that fails."""
    (tmp_path / "av.py").write_text("raise ImportError('libx.so.1: cannot open shared object file')")
    request = {"contender": "pyav", "task": "versions"}

    done = subprocess.run(
        driver.worker_command(request), cwd=ROOT, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip

    assert json.loads(done.stdout) == {"failed": "ImportError: libx.so.1: cannot open shared object file"}
