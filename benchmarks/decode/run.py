# SPDX-License-Identifier: Apache-2.0
"""Measures tricodec and its peers on this machine's CPU, for results/cpu.csv (docs/reference/benchmarks.md)."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.decode import clips, exact, goals, peers, plan, rounds
from benchmarks.decode.driver import Failed, Measured, Run, ask, cores_for, measure_all
from benchmarks.environment import environment, listed
from benchmarks.results import Row

_RESULTS = results.FOLDER / "cpu.csv"
_BUDGET_SECONDS = 40 * 60  # of which the first round takes two fifths; the checks take seven minutes more
_QUICK_SECONDS = 3 * 60
_CHECKED_IN_FULL = (plan.CHIEF, "hevc_1080p")


def _say(text: str) -> None:
    print(text, flush=True)


def _contenders(names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Versions of those that are here, and why the others are not."""
    found, absent = {}, {}
    for name in names:
        try:
            answer = ask({"contender": name, "task": "versions"}, cores_for(2))
            found[name] = listed(answer["versions"])
        except Failed as failure:
            _say(f"{name} is absent: {failure}")
            absent[name] = str(failure)
    return found, absent


def _chosen(options: argparse.Namespace) -> list[plan.Cell]:
    cores = [count for count in (1, 2) if count <= len(os.sched_getaffinity(0))]
    if options.once:
        return plan.smoke()
    cells = plan.quick(cores) if options.quick else plan.full(cores)
    for field, wanted in (("task", options.task), ("clip", options.clip), ("contender", options.contender)):
        if wanted:
            cells = [cell for cell in cells if getattr(cell, field) in wanted]
    return cells


def row_of(cell: plan.Cell, runs: Sequence[Run], failure: str = "") -> Row:
    """A cell and its figures."""
    unit = plan.TASKS[cell.task].unit
    row = Row(cell.task, cell.clip, cell.contender, "", cell.cores, cell.threads, unit=unit, note=failure)
    if not runs:
        return row
    cpu_ms, memory_mb = statistics.median(run.cpu_ms for run in runs), max(run.peak_rss_mb for run in runs)
    return row.with_runs([run.value for run in runs], cpu_ms=cpu_ms, memory_mb=memory_mb)


def pair_row(ours: plan.Cell, peer: plan.Cell, ratios: Sequence[float]) -> Row:
    """The ratios of two cells that ran next to each other."""
    against = goals.opponent(peer.contender, ours.cores, peer.cores)
    return Row(ours.task, ours.clip, ours.contender, "", ours.cores, against=against).with_ratios(ratios)


def rows_of(measured: Measured) -> list[Row]:
    """Cells that have runs, and pairs of those with the best number of threads."""
    rows = [row_of(cell, taken) for cell, taken in measured.runs.items()]
    best = set(_settled(measured).values())
    return rows + [pair_row(*both, ratios) for both, ratios in measured.pairs.items() if best.issuperset(both)]


def _settled(measured: Measured) -> dict[rounds.Key, plan.Cell]:
    return rounds.settled({cell: taken[0].value for cell, taken in measured.runs.items() if taken})


def _next_turns(measured: Measured, number: int) -> list[list[plan.Cell]]:
    cells = _settled(measured)
    turns = [[cells[key] for key in keys] for keys in rounds.next_turns(rows_of(measured), number)]
    _say(f"round {number} of pairs: {len(turns)} contests, {sum(map(len, turns))} runs")
    return turns


def _exactness(cells: Sequence[plan.Cell]) -> Iterator[Row]:
    for clip in dict.fromkeys(cell.clip for cell in cells):
        yield exact.equal_frames(clip)
        if any(cell.clip == clip and cell.task == "random" for cell in cells):
            # All that seek anywhere, also the slow ones that the figures leave out: a wrong frame is another matter.
            seekers = [
                name for name in plan.TASKS["random"].contenders if any(cell.contender == name for cell in cells)
            ]
            yield from exact.wrong_frames(clip, seekers, lists=3 if clip in _CHECKED_IN_FULL else 1)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="the chief clip, three minutes")
    amount.add_argument("--once", action="store_true", help="a tiny clip: only proves that everything starts")
    parser.add_argument("--budget", type=float, metavar="MINUTES", help="no pair starts after this (default 40)")
    for name in ("task", "clip", "contender"):
        parser.add_argument(f"--{name}", nargs="+", metavar="NAME", help=f"only these; see the plan ({name})")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the results file (default: results/cpu.csv)")
    return parser


def main() -> int:
    """0 if everything was measured, whether or not the goals are reached; 1 if a goal about bytes is missed."""
    parser = _arguments()
    options = parser.parse_args()
    start = time.monotonic()
    cells = _chosen(options)
    if not cells:
        parser.error("no cell of the plan is called so")
    contenders, absent = _contenders(list(dict.fromkeys(cell.contender for cell in cells)))
    here = [cell for cell in cells if cell.contender in contenders]
    for clip in dict.fromkeys(cell.clip for cell in here):
        _say(f"clip {clip}: {clips.clip(clip)}")
    budget = options.budget * 60 if options.budget else _QUICK_SECONDS if options.quick else _BUDGET_SECONDS
    measured = measure_all(here, next_turns=_next_turns, budget_seconds=budget, report=_say)
    rows = [
        row_of(cell, measured.runs.get(cell, []), measured.failures.get(cell) or absent.get(cell.contender, ""))
        for cell in cells
    ]
    rows += [row for row in rows_of(measured) if row.against]
    for row in _exactness(here):
        _say(f"{row.input}: {row.task} frames of {row.contender}: {row.value} of {row.runs} {row.note}")
        rows.append(row)
    facts = {
        **environment(time.monotonic() - start),
        "content": clips.content(),
        **{f"clip {clip}": clips.facts(clip) for clip in dict.fromkeys(cell.clip for cell in cells)},
        **{f"contender {name}": versions for name, versions in contenders.items()},
        **{f"absent {name}": why for name, why in absent.items()},
    }
    reached = goals.of_rows(rows)
    for goal in reached:
        _say(goal.describe())
    partial = options.once or options.quick or options.task or options.clip or options.contender
    output = options.output or (None if partial else _RESULTS)
    if output is not None:
        results.write(output, facts, rows)
        _say(f"wrote {output}")
    return 1 if any(not goal.passed and goal.unit == "frames" for goal in reached) else 0


assert set(peers.MODULES) >= {name for task in plan.TASKS.values() for name in task.contenders}

if __name__ == "__main__":
    sys.exit(main())
