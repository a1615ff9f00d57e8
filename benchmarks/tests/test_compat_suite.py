# SPDX-License-Identifier: Apache-2.0
"""The runner of torchcodec's tests sorts them, and the tables say what it found."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_outcomes_are_sorted_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    recorder = suite.Recorder()
    pytest.main(["-q", "-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={tmp_path}", str(tmp_path)],
                plugins=[recorder])  # fmt: skip
    found = recorder.files["test_it.py"]
    assert found.passed == ["test_passes"]
    assert found.failed.keys() == {"test_fails", "test_reads_a_missing_attribute"}
    assert "one is not two" in found.failed["test_fails"]
    rows = suite.rows_of(recorder.files, "a suite")
    counts = {row.setting: row.value for row in rows if row.unit == "tests"}
    assert counts == {"passed": 1, "failed": 2, "private names": 2, "without a GPU": 1, "skipped by the suite": 0}
    text = table.suite({"date": "2026-11-26T01:02:03"}, rows)
    assert "1 of 3 tests that use public names pass (33.3 %)" in text
    assert "| test_it.py | 1 | 2 | 2 | 1 | 0 |" in text
    assert "failure of test_fails" in text


def test_the_table_of_loaders_has_each_figure() -> None:
    run = {"requests_per_s": 2.5, "p50_s": 0.4, "p99_s": 0.9, "cpu_s": 0.7, "late_p99_ms": 1.25, "late_max_ms": 4.0,
           "memory_mb": 300.0}  # fmt: skip
    rows: list[Row] = vlm.rows_of("h264.mp4", 8, "tricodec", 2, [run])
    text = table.serving({"cores": "2", "cpu": "CPU", "date": "2026-11-26T01:02:03"}, rows)
    line = "| h264.mp4 | 8 at once | tricodec | 2.50 | 0.40 s | 0.90 s | 0.70 s | 300 MB | 1.2 ms | 4.0 ms |"
    assert line in text
