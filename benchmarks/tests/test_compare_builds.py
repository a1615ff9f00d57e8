# SPDX-License-Identifier: Apache-2.0
"""Two builds compared: ratios are of neighboring runs, and what is slower or was not measured is not passed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compare_builds, programs, results
from benchmarks.compare_builds import Compared, Program
from benchmarks.decode.driver import Failed
from benchmarks.environment import ROOT
from benchmarks.sites import Residents


def _program(monkeypatch: pytest.MonkeyPatch, times: dict[str, list[float]], unit: str = "ms") -> Program:
    """One with runs that take as long as told with either build."""
    program = Program(list, 0, {"cell": unit}, lambda answer, _: {"cell": answer["value"]})
    left = {site: iter(values) for site, values in times.items()}

    def answer_of(_: Any, cores: Any, environment: dict[str, str]) -> dict[str, float]:
        del cores
        return {"value": next(left[environment["PYTHONPATH"]])}

    monkeypatch.setattr(compare_builds, "answer_of", answer_of)
    return program


def _site() -> Path:
    import tricodec

    return Path(tricodec.__file__).parents[1]


def _compared(program: Program, pairs: int) -> Compared:
    for _ in range(pairs):
        program.take_pair(Path("before"), Path("after"))
    (row,) = program.rows()
    return row


def test_a_slower_build_is_below_the_bound_whatever_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    # The machine was twice as slow during the second pair.
    program = _program(monkeypatch, {"before": [10.0, 20.0] * 5, "after": [11.0, 22.0] * 5})

    row = _compared(program, 4)

    assert (row.before, row.after, row.ratio) == (15.0, 16.5, pytest.approx(10 / 11))
    assert not row.passed
    assert "SLOWER" in row.describe()
    assert program.is_open  # a few pairs may agree by chance
    assert _compared(program, 6).ratio == row.ratio
    assert not program.is_open


def test_a_second_run_that_is_slower_whichever_it_is_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    program = _program(monkeypatch, {"before": [10.0, 12.0] * 2, "after": [12.0, 10.0] * 2})

    assert _compared(program, 4).ratio == pytest.approx(1.0, abs=0.02)


def test_more_frames_a_second_are_better(monkeypatch: pytest.MonkeyPatch) -> None:
    row = _compared(_program(monkeypatch, {"before": [100.0] * 4, "after": [110.0] * 4}, "frames/s"), 4)

    assert (row.ratio, row.passed) == (pytest.approx(1.1), True)


def test_a_chain_is_judged_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    row = _compared(_program(monkeypatch, {"before": [0.5] * 4, "after": [0.97] * 4}, "x"), 4)

    assert (row.ratio, row.bound, row.passed) == (0.97, 0.98, False)


def test_a_ratio_near_its_bound_asks_for_more_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    program = _program(monkeypatch, {"before": [10.0] * 16, "after": [10.3, 9.9, 10.5, 9.8] * 4})

    _compared(program, 4)

    assert program.is_open
    assert _compared(program, 12).pairs == 16
    assert not program.is_open


def test_too_few_pairs_and_failures_are_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    few = _compared(_program(monkeypatch, {"before": [1.0] * 3, "after": [1.0] * 3}), 3)
    (none,) = _program(monkeypatch, {}).rows()

    assert not few.passed
    assert "before pair 4" in few.describe()
    assert (none.passed, none.note) == (False, "the budget ended before")


def test_a_process_that_stays_answers_until_it_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.sites._MOST_ANSWERS", 2)
    request = {"program": "compress", "family": "Snappy", "options": {"algorithm": "Snappy"}, "slow": True}
    kept = Residents()

    first, second = (kept.answer(_site(), request) for _ in range(2))
    with pytest.raises(Failed, match=r"KeyError"):
        kept.answer(_site(), {"program": "nothing"})
    kept.close()

    assert first.keys() == second.keys() == {"encode", "decode"}
    assert all(seconds > 0 for seconds in [*first.values(), *second.values()])


def test_every_format_of_a_gpu_is_compared_in_both_shapes() -> None:
    cells = {cell for program in compare_builds.gpu_programs(Path("clips")) for cell in program.units}

    assert {"LZ4 encode one array", "ANS decode 1,000 arrays", "GDeflate 5 encode 1,000 arrays"} <= cells
    assert not any("level" in cell for cell in cells)  # an option of the CPU's compressors


def test_a_failing_program_says_why_and_is_not_asked_again(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.programs", '{"program": "start", "path": "/nowhere.mp4"}']
    program = Program(lambda: command, 0, {"cell": "ms"}, lambda answer, seconds: {"cell": seconds})

    program.take_pair(tmp_path, tmp_path)
    (row,) = program.rows()

    assert not program.is_open
    assert "Error" in row.note
    assert "NOT MEASURED" in row.describe()


def test_two_builds_are_compared_as_whole_processes(tmp_path: Path) -> None:
    site = _site()
    output = tmp_path / "house.csv"
    command = [sys.executable, "-m", "benchmarks.compare_builds", "--before", site, "--after", site]
    command += ["--only", "Snappy *", "--budget", "0.4", "--output", output]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    facts, rows = results.read(output, Compared)
    assert [row.cell for row in rows] == ["Snappy encode", "Snappy decode"], done.stdout + done.stderr
    assert all(row.ratio and row.pairs and row.before and row.after for row in rows)
    assert done.returncode == (0 if all(row.passed for row in rows) else 1)
    assert facts["before"] == facts["after"]


def test_processor_time_is_that_of_a_frame_of_every_task() -> None:
    found = {cell: program for program in compare_builds.cpu_programs(None, True) for cell in program.units}
    rgb = found["h264_1080p rgb tricodec 1 core"]
    answer = {"frames": 300, "seconds": 60.0, "cpu_seconds": 1.5, "peak_rss_mb": 100.0}

    assert rgb.units == {"h264_1080p rgb tricodec 1 core": "CPU ms"}
    assert rgb.values(answer, 61.0) == {"h264_1080p rgb tricodec 1 core": pytest.approx(5.0)}
    assert not any(cell.startswith(("Zstd", "encode", "start")) for cell in found)


def test_a_folder_without_tricodec_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.compare_builds", "--before", tmp_path, "--after", tmp_path]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 2
    assert "has no tricodec" in done.stderr or "No module named 'tricodec'" in done.stderr


def test_every_cell_of_the_guard_has_a_name_of_its_own() -> None:
    cells = [cell for program in compare_builds.cpu_programs(None) for cell in program.units]
    cells += [cell for program in compare_builds.gpu_programs(Path("clips")) for cell in program.units]

    assert len(cells) == len(set(cells)) > 150
    assert {"h264_1080p rgb tricodec 2 cores", "Zstd decode", "hevc chain random crop 224 of decoding alone"} <= set(
        cells
    )


def test_the_programs_of_a_gpu_read_every_frame_on_a_cpu_too(tmp_path: Path) -> None:
    clip = tmp_path / "a.mp4"
    pattern = ["-f", "lavfi", "-i", "testsrc2=s=320x240", "-frames:v", "33", "-c:v", "libx264", "-preset", "ultrafast"]
    subprocess.run(["ffmpeg", "-v", "error", *pattern, "-pix_fmt", "yuv420p", str(clip)], check=True)
    request = {"path": str(clip), "device": "cpu", "frames": 33}

    one, many = programs.one_file(request), programs.many_files(request)

    (of_one, of_many) = (program.units for program in list(compare_builds.gpu_programs(tmp_path))[:2])
    assert (len(one), len(many)) == (len(of_one), len(of_many)) == (7, 1)
    assert all(seconds > 0 for seconds in [*one.values(), *many.values()])
    with pytest.raises(RuntimeError, match="gave 33 frames where 34 were asked for"):
        programs.one_file(request | {"frames": 34})
