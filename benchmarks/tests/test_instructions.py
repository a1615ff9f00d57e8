# SPDX-License-Identifier: Apache-2.0
"""The guard of the kernels' instruction counts; the counts themselves are compared by ctest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import instructions


def test_more_instructions_than_the_tolerance_are_a_regression_and_fewer_ask_for_a_new_baseline() -> None:
    baseline = {"same": 1000, "slower": 1000, "bit_slower": 1000, "faster": 1000}
    counts = {"same": 1000, "slower": 1031, "bit_slower": 1029, "faster": 969}

    found = instructions.compare(counts, baseline)

    assert (found.regressed, found.unmatched, found.faster) == (["slower"], [], ["faster"])
    assert len(found.lines) == 4


@pytest.mark.parametrize(
    ("counts", "named"),
    [({"kept": 1000, "new": 5}, "new"), ({}, "kept"), ({"kept": 1031}, "kept")],
    ids=["new_case", "missing_case", "slower_case"],
)
def test_a_case_that_the_baseline_does_not_guard_fails(
    counts: dict[str, int],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = tmp_path / "table.json"
    table.write_text(json.dumps({f"here, {name}": {"kept": 1000} for name in instructions.INSTRUCTION_SETS}))
    monkeypatch.setattr(instructions, "environment", lambda _, instruction_set: f"here, {instruction_set}")
    monkeypatch.setattr(instructions, "count", lambda *_: counts)

    status = instructions.main(["program", "--baseline", str(table)])

    assert status == 1
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert named in said
    monkeypatch.setattr(instructions, "count", lambda *_: {"kept": 1000})
    assert instructions.main(["program", "--baseline", str(table)]) == 0


def test_a_compiler_without_a_baseline_is_reported_with_the_remedy_and_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "cases"
    program.write_text("#!/bin/sh\necho 'g++ 99'\n")
    program.chmod(0o755)

    assert instructions.main([str(program)]) == 0

    said = capsys.readouterr().out
    assert "no baseline for" in said
    assert "g++ 99" in said
    assert "--update" in said


def test_every_baseline_of_instructions_names_the_same_cases() -> None:
    table = json.loads(instructions.RESULTS.read_text())

    assert table
    assert len({frozenset(counts) for counts in table.values()}) == 1
    assert all(number > 0 for counts in table.values() for number in counts.values())
