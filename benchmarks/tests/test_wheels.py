# SPDX-License-Identifier: Apache-2.0
"""The record of wheels that were tried, and its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import results, wheels
from benchmarks.wheels import Wheel


def test_a_wheel_takes_the_place_of_the_last_one_for_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "PATH", tmp_path / "wheels.csv")
    for wheel in (Wheel("aarch64", "2.34", 20, 60), Wheel("x86_64", "2.34", 40, 90), Wheel("aarch64", "2.36", 21, 61)):
        wheels.record(wheel)

    _, found = results.read(wheels.PATH, Wheel)

    assert [(wheel.machine, wheel.glibc, wheel.megabytes) for wheel in found] == [
        ("x86_64", "2.34", 40),
        ("aarch64", "2.36", 21),
    ]
    assert all(wheel.date and wheel.commit for wheel in found)


def test_the_table_has_a_line_for_each_machine() -> None:
    wheel = Wheel("aarch64", "2.34", 21.25, 61.4, "none", "highway NEON", "QEMU", "2026-11-26")

    lines = wheels.table({}, [wheel]).splitlines()

    assert lines[-1] == "| aarch64 | 2.34 | 21.2 MB | 61 MB | none | highway NEON | QEMU | 2026-11-26 |"
