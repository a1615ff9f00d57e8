# SPDX-License-Identifier: Apache-2.0
"""The one format of results files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.results import Row


def test_rows_and_facts_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [
        Row("rgb", "clip", "tricodec", cores=2, unit="frames/s").with_runs([3.0, 1.0, 2.0], cpu_ms=0.25),
        Row("rgb", "clip", "pyav", note='absent: "libx", reasons'),
        Row("wrong", "clip", "tricodec", value=0.0, unit="frames", runs=32),
    ]

    results.write(tmp_path / "a.csv", {"cpu": "one: of a kind", "gpu": None}, rows)
    facts, read = results.read(tmp_path / "a.csv")

    assert (facts, read) == ({"cpu": "one: of a kind"}, rows)
    assert (read[0].value, read[0].low, read[0].high, read[0].runs) == (2.0, 1.0, 3.0, 3)


def test_what_a_results_file_must_not_have_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    row = Row("rgb", "clip", "tricodec")

    with pytest.raises(ValueError, match="two rows are of the same cell"):
        results.write(path, {}, [row, row])
    with pytest.raises(ValueError, match="one line"):
        results.write(path, {"note": "two\nlines"}, [row])
    path.write_text("task,input\nrgb,clip\n")
    with pytest.raises(ValueError, match=r"has the columns \['task', 'input'\]"):
        results.read(path)


def test_every_results_file_can_be_read() -> None:
    others = ("house", "newcomer", "reliability", "wheels")  # with rows of their own
    paths = [path for path in results.FOLDER.glob("*.csv") if not path.name.startswith(others)]

    assert len(paths) >= 6
    for path in paths:
        facts, rows = results.read(path)
        assert {"commit", "date", "cpu", "libraries"} <= set(facts)
        assert rows
