# SPDX-License-Identifier: Apache-2.0
"""The runner of torchcodec's tests sorts them, and the tables say what it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.compat import suite, table, vlm
from benchmarks.results import Row

SUITE = """
import pytest
from benchmarks.compat.suite import PrivateName

class Decoder:
    pass

def test_passes():
    pass

def test_fails():
    assert 1 == 2, "one is not two"

def test_calls_a_private_function():
    PrivateName("_core.f")(3)

def test_reads_a_private_attribute():
    Decoder()._num_frames

def test_reads_a_missing_attribute():
    Decoder().num_frames

@pytest.mark.skip(reason="CUDA not available.")
def test_needs_a_gpu():
    pass
"""


RUN = """
import dataclasses, json, sys
import pytest
from benchmarks.compat.suite import Recorder
recorder = Recorder()
arguments = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", sys.argv[1], sys.argv[1]]
pytest.main(arguments, plugins=[recorder])
print(json.dumps({name: dataclasses.asdict(each) for name, each in recorder.files.items()}))
"""


def test_outcomes_are_sorted_and_told(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, check=True, env=environment
    )
    files = {name: suite.Outcomes(**each) for name, each in json.loads(done.stdout.splitlines()[-1]).items()}
    found = files["test_it.py"]
    assert found.passed == ["test_passes"]
    assert found.failed.keys() == {"test_fails", "test_reads_a_missing_attribute"}
    assert "one is not two" in found.failed["test_fails"]
    rows = suite.rows_of(files, "a suite")
    counts = {row.setting: row.value for row in rows if row.unit == "tests"}
    assert counts == {"passed": 1, "failed": 2, "private names": 2, "without a GPU": 1, "skipped by the suite": 0}
    text = table.suite({"date": "2026-11-26T01:02:03"}, rows)
    assert "1 of 3 tests that use public names pass (33.3 %)" in text
    assert "| test_it.py | 1 | 2 | 2 | 1 | 0 |" in text
    assert "failure of test_fails" in text


def test_the_table_of_loaders_has_each_figure() -> None:
    run = {"requests_per_s": 2.5, "p50_s": 0.4, "p99_s": 0.9, "cpu_s": 0.7, "late_p99_ms": 1.25, "late_max_ms": 4.0,
           "held_max_ms": 0.62, "memory_mb": 300.0, "gpu_memory_mb": None}  # fmt: skip
    rows: list[Row] = vlm.rows_of("h264.mp4", 8, "tricodec", 2, [run])
    text = table.serving({"cores": "2", "cpu": "CPU", "date": "2026-11-26T01:02:03"}, rows)
    line = "| h264.mp4 | 8 at once | tricodec | 2.50 | 700 ms | 300 MB | 0.6 ms | 1 ms |"
    assert line in text


def test_a_lock_that_was_not_watched_has_no_row() -> None:
    run = dict.fromkeys(vlm.FIGURES, 1.0) | {"held_max_ms": None, "cpu_s": 0.7, "memory_mb": 300.0}
    assert "held_max_ms" not in {row.task for row in vlm.rows_of("a.mp4", 1, "tricodec", 2, [run])}
