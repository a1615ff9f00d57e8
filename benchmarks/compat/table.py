# SPDX-License-Identifier: Apache-2.0
"""What torchcodec.md and decord.md of docs/migration show of compat*.csv; benchmarks/table.py puts it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import goals
from benchmarks.compat.program import TASKS
from benchmarks.results import Row


def _beside(package: str, facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    cells = {(row.task, row.contender): row for row in rows if row.setting == package and not row.against}
    ratios = {row.task: row for row in rows if row.setting == package and row.against}
    lines = [goals.header(["", package, "tricodec", "ratio", f"memory of {package}", "of tricodec"])]
    for task, what in TASKS.items():
        if (task, package) not in cells:
            continue
        theirs, ours, ratio = cells[task, package], cells[task, "tricodec"], ratios[task].spread
        memory = ["" if row.memory_mb is None else f"{row.memory_mb:.0f} MB" for row in (theirs, ours)]
        times = [f"{row.spread.median * 1000:,.{1 if row.spread.median < 0.01 else 0}f} ms" for row in (theirs, ours)]
        lines.append(goals.line([what, *times, f"{ratio.median:.2f}x ({ratio.low:.2f} to {ratio.high:.2f})", *memory]))
    first = next(iter(cells.values()))
    is_wall = first.unit == "s"
    shared = "" if is_wall else " that other work shared"
    machine = f"{facts['gpu']}, " if facts.get("device", "cpu") != "cpu" else ""
    machine += f"{facts['cores']} cores of an {facts['cpu']}{shared}, {facts['date'][:10]}"
    clip = first.input
    return (
        f"{'Time' if is_wall else 'Processor time'} of the same program with each package by turns, {clip}, "
        f"{machine}. Ratios are medians over "
        f"{next(iter(ratios.values())).runs} pairs, with their quartiles; above 1 tricodec needs less.\n\n"
        f"{''.join(lines)}"
    )


def beside_torchcodec(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """A line a task."""
    return _beside("torchcodec", facts, rows)


def beside_decord(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """A line a task."""
    return _beside("decord", facts, rows)
