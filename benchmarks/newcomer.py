# SPDX-License-Identifier: Apache-2.0
"""What tools/newcomer.py timed: one row a system and command in results/newcomer.csv."""

from __future__ import annotations

import dataclasses

from benchmarks import results

PATH = results.FOLDER / "newcomer.csv"


@dataclasses.dataclass(frozen=True)
class Step:
    """A command of README on a system that had nothing.

    Attributes:
        system: its name and version.
        command: of README.
        note: in words.
        seconds: by the clock.
        processor_seconds: user and system, of all processes.
        date: of the run.
        commit: that was built.
    """

    system: str
    command: str
    note: str = ""
    seconds: int = 0
    processor_seconds: int = 0
    date: str = ""
    commit: str = ""


def record(step: Step) -> None:
    """Writes a step that ran on this machine, in place of the last one of the same system and command."""
    results.put(PATH, step, lambda each: (each.system, each.command))
