# SPDX-License-Identifier: Apache-2.0
"""The record of README's commands on a bare system."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import newcomer, results
from benchmarks.newcomer import Step


def test_a_step_takes_the_place_of_the_last_one_of_its_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newcomer, "PATH", tmp_path / "newcomer.csv")
    for step in (Step("a", "make demo", "", 3, 2), Step("b", "make demo", "", 5, 4), Step("a", "make demo", "", 7, 6)):
        newcomer.record(step)

    _, steps = results.read(newcomer.PATH, Step)

    assert [(step.system, step.seconds, step.processor_seconds) for step in steps] == [("b", 5, 4), ("a", 7, 6)]
    assert all(step.date for step in steps)
    assert all(step.commit for step in steps)
