# SPDX-License-Identifier: Apache-2.0
"""The rows and the sentence that benchmarks.gpu.graphs makes of its times; it takes them on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.gpu import graphs
from benchmarks.gpu.graphs import Timed

_FACTS = {"gpu": "H100", "date": "2026-11-26T03:00:00"}


def test_a_replayed_graph_is_compared_with_the_calls_beside_it(tmp_path: Path) -> None:
    rows = graphs.rows_of(64, 8, Timed(calls=[30, 60, 33], gpu_alone=[10, 10, 10], graph=[20, 40, 22]))
    rows += graphs.rows_of(224, 128, Timed(calls=[101, 101, 101], gpu_alone=[100, 100, 100], graph=[100, 100, 100]))
    results.write(tmp_path / "graphs.csv", _FACTS, rows)
    facts, read = results.read(tmp_path / "graphs.csv")

    ratio = next(row for row in read if row.contender == "graph" and row.against == "calls")
    assert (ratio.input, ratio.setting, ratio.value, ratio.runs) == ("64x64", "8 pictures", 1.5, 3)
    bound = next(row for row in read if row.contender == "gpu alone" and row.against == "calls")
    assert bound.value == pytest.approx(3.3)
    assert graphs.summary(facts, read) == (
        "On an H100 (2026-11-26), a replayed graph makes a loop of `Transform` calls 1.01 times (224x224, 128 "
        "pictures) to 1.50 times (64x64, 8 pictures) as fast.\n"
    )


def test_a_failed_capture_leaves_its_error_and_the_bound(tmp_path: Path) -> None:
    timed = Timed(calls=[30, 33], gpu_alone=[15, 15], failure="DeviceError: it is capturing")
    results.write(tmp_path / "graphs.csv", _FACTS, graphs.rows_of(64, 8, timed))
    facts, read = results.read(tmp_path / "graphs.csv")

    row = next(row for row in read if row.contender == "graph")
    assert (row.value, row.note) == (None, "not captured: DeviceError: it is capturing")
    assert "no graph could be captured" in graphs.summary(facts, read)
    assert "2.10 times" in graphs.summary(facts, read)
