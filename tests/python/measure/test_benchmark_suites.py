# SPDX-License-Identifier: Apache-2.0
"""The benchmarks: a suite measures in processes of its own, and its results are read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import figures, results, suite
from benchmarks.results import Case


@pytest.fixture(autouse=True)
def _clips_in_a_folder_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICODEC_BENCH_CACHE", str(tmp_path))


def test_a_suite_measures_tricodec_and_the_results_can_be_read(tmp_path: Path) -> None:
    cases = [
        Case("rgb", "tiny", "tricodec", cores=1, threads=1),
        Case("random", "tiny", "tricodec", cores=1, threads=1, unit="ms"),
        Case("nothing", "tiny", "tricodec", cores=1, threads=1),
    ]
    said: list[str] = []

    rows = suite.measure("decode", cases, 2, said.append)
    results.write(tmp_path / "decode.csv", {"content": "a test"}, rows)
    facts, read = results.read(tmp_path / "decode.csv")

    assert [(row.task, row.runs, row.value is not None) for row in read] == [
        ("rgb", 2, True), ("random", 2, True), ("nothing", 0, False),
    ]  # fmt: skip
    assert "nothing" in read[2].note
    assert facts == {"content": "a test"}
    assert len(said) == 5  # a case that failed is not run again


def test_every_suite_has_cases_of_tricodec_that_can_be_sent_to_a_process() -> None:
    for name in suite.SUITES:
        for device in ("cpu", "cuda") if name in ("compress", "serve") else ("cpu",):
            cases = suite.load(name).cases(suite.Options(device))
            assert len(set(cases)) == len(cases)
            assert any(case.contender.startswith("tricodec") for case in cases)
            assert [Case(**json.loads(json.dumps(vars(case)))) for case in cases] == cases


def test_a_ratio_is_that_of_the_printed_figures() -> None:
    ours = results.Row.of(Case("first", "clip", "tricodec", unit="ms"), [12.96, 13.5, 12.0])
    theirs = results.Row.of(Case("first", "clip", "opencv", unit="ms"), [30.84])
    found = figures.Results({}, [ours, theirs]).contest(task="first")

    assert found is not None
    assert found.printed() == ("13.0 ms", "30.8 ms")
    assert found.ratio == 30.8 / 13.0
