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


def suite(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """A line a file of torchcodec's tests, and what fails."""
    kinds = ["passed", "failed", "private names", "without a GPU", "skipped by the suite"]
    counts = {(row.task, row.setting): int(row.value or 0) for row in rows if row.unit == "tests"}
    files = list(dict.fromkeys(row.task for row in rows))
    lines = [goals.header(["", *kinds])]
    lines += [goals.line([file, *(f"{counts.get((file, kind), 0)}" for kind in kinds)]) for file in files]
    passed = sum(counts[file, "passed"] for file in files)
    public = passed + sum(counts[file, "failed"] for file in files)
    failures = [f"- {row.task}, {row.setting}: {row.note}\n" for row in rows if row.setting.startswith("failure of")]
    return (
        f"{rows[0].input}, {facts['date'][:10]}: {passed} of {public} tests that use public names pass "
        f"({100 * passed / public:.1f} %).\n\n{''.join(lines)}" + ("\n" + "".join(failures) if failures else "")
    )


def serving(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """A line a codec, a number of requests and a loader."""
    late = {(row.input, row.setting, row.contender): row for row in rows if row.task == "late_p99_ms"}
    held = {(row.input, row.setting, row.contender): row for row in rows if row.task == "held_max_ms"}
    lines = [
        goals.header(
            ["video", "requests", "loader", "requests/s", "CPU a request", "memory", "lock held, longest", "loop late"]
        )
    ]
    for row in rows:
        if row.task != "requests_per_s":
            continue
        speed = "" if row.contender == "control" else f"{row.spread.median:.2f}"
        used = "" if row.contender == "control" else f"{row.cpu_ms or 0:,.0f} ms"
        key = (row.input, row.setting, row.contender)
        longest = f"{held[key].spread.median:.1f} ms" if used and key in held else ""
        ticks = f"{late[key].spread.median:.0f} ms"
        memory = f"{row.memory_mb or 0:,.0f} MB"
        cells = [row.input, row.setting, row.contender, speed, used, memory, longest, ticks]
        lines.append(goals.line(cells))
    return f"{facts['cores']} cores of an {facts['cpu']}, {facts['date'][:10]}.\n\n{''.join(lines)}"
