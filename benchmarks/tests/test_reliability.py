# SPDX-License-Identifier: Apache-2.0
"""The figures of the long tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import reliability, results
from benchmarks.reliability import Trial


def test_a_new_run_takes_the_place_of_the_last_one_of_its_subject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reliability, "PATH", tmp_path / "reliability.csv")
    for count in (5, 7):
        reliability.record("damaged files", count, "files", 3.2, 1, "make test-slow")
    reliability.record("calls", 10, "calls", 1, 0, "make test-slow")

    _, trials = results.read(reliability.PATH, Trial)

    assert [(trial.subject, trial.count, trial.failures) for trial in trials] == [
        ("damaged files", 7, 1),
        ("calls", 10, 0),
    ]
    assert trials[0].date
    assert trials[0].commit


def test_the_table_says_what_has_not_run() -> None:
    trials = [
        Trial("damaged files", 5000, "files", 300, 2, "2026-11-26", how="make test-slow"),
        Trial("packets on a GPU", how="pytest gpu", note="2,000 streams"),
    ]

    lines = reliability.table({"cores": "2", "cpu": "AMD EPYC"}, trials).splitlines()

    assert lines[-2] == "| damaged files | 5,000 files | 5 min | 2 | 2026-11-26 | `make test-slow` |"
    assert lines[-1] == "| packets on a GPU: 2,000 streams | not run |  |  |  | `pytest gpu` |"


def test_every_trial_of_the_results_can_be_read() -> None:
    facts, trials = results.read(reliability.PATH, Trial)

    assert {"cpu", "cores"} <= set(facts)
    assert trials
