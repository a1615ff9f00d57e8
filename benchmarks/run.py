# SPDX-License-Identifier: Apache-2.0
"""Measures tricodec and its peers on this machine's CPU and writes benchmarks/results/cpu.json (docs/benchmarks.md)."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import clips
import environment
import exact
import goals
import pairs
import peers
import plan
import rounds
import schema
from driver import Failed, Measured, ask, cores_for, measure_all

_RESULTS = Path(__file__).resolve().parent / "results" / "cpu.json"
_BUDGET_SECONDS = 40 * 60  # of which the first round takes two fifths; the checks take seven minutes more
_QUICK_SECONDS = 3 * 60
_CHECKED_IN_FULL = (plan.CHIEF, "hevc_1080p")


def _say(text: str) -> None:
    print(text, flush=True)


def _contenders(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Versions of those that are here, and why the others are not."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        try:
            answer, _ = ask({"contender": name, "task": "versions"}, cores_for(2))
            found[name] = {"versions": answer["versions"], "absent": None}
        except Failed as failure:
            _say(f"{name} is absent: {failure}")
            found[name] = {"versions": None, "absent": str(failure)}
    return found


def _chosen(options: argparse.Namespace) -> list[plan.Cell]:
    cores = [count for count in (1, 2) if count <= len(os.sched_getaffinity(0))]
    if options.once:
        return plan.smoke()
    cells = plan.quick(cores) if options.quick else plan.full(cores)
    for field, wanted in (("task", options.task), ("clip", options.clip), ("contender", options.contender)):
        if wanted:
            cells = [cell for cell in cells if getattr(cell, field) in wanted]
    return cells


def _exactness(cells: Sequence[plan.Cell]) -> tuple[list[exact.Exactness], list[goals.Goal]]:
    results, reached = [], []
    for clip in dict.fromkeys(cell.clip for cell in cells):
        equal, num_frames = exact.equal_frames(clips.clip(clip))
        _say(f"{clip}: {equal} of {num_frames} frames equal ffmpeg's")
        reached.append(goals.of_equality(clip, equal, num_frames))
        if not any(cell.clip == clip and cell.task == "random" for cell in cells):
            continue
        # All that seek anywhere, also where the figures leave out the slow ones: who is wrong is another question.
        seekers = [name for name in plan.TASKS["random"].contenders if any(cell.contender == name for cell in cells)]
        found, failures = exact.check_all(clip, seekers, lists=3 if clip in _CHECKED_IN_FULL else 1)
        results += found
        for result in found:
            _say(
                f"{clip}: {result.contender} gave {len(result.wrong)} wrong of {result.of} random frames {result.wrong}"
            )
        for contender, failure in failures.items():
            _say(f"{clip}: {contender} cannot give random frames: {failure}")
    return results, reached


def _entries(measured: Measured) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Cells that have runs, and pairs of those with the best number of threads, as they stand in the file."""
    cells = [schema.cell_entry(cell, taken, None) for cell, taken in measured.runs.items()]
    best = set(_settled(measured).values())
    paired = [schema.pair_entry(*both, ratios) for both, ratios in measured.pairs.items() if best.issuperset(both)]
    return cells, paired


def _settled(measured: Measured) -> dict[rounds.Key, plan.Cell]:
    return rounds.settled({cell: taken[0].value for cell, taken in measured.runs.items() if taken})


def _next_turns(measured: Measured, number: int) -> list[list[plan.Cell]]:
    cells = _settled(measured)
    turns = [[cells[key] for key in keys] for keys in rounds.next_turns(*_entries(measured), number)]
    _say(f"round {number} of pairs: {len(turns)} contests, {sum(map(len, turns))} runs")
    return turns


def _verdict(goal: goals.Goal) -> str:
    judged = goal.value if goal.ratio is None else goal.ratio
    against = f" against {goal.peer}" if goal.peer else ""
    verdict = "reached" if goal.passed else "MISSED"
    if goal.ratios:
        low, _, high = pairs.quartiles(goal.ratios)
        told = "" if goals.is_decided(goal.ratios, goal.target) else ", which do not decide"
        against += f" ({low:.3f} to {high:.3f}, pairs: {len(goal.ratios)}{told})"
    return f"{verdict:7} {goal.name}: {judged:.3f}{against}, wanted {'>=' if goal.at_least else '<='} {goal.target}"


def main() -> int:
    """0 if everything was measured, whether or not the goals are reached; --once fails where one about bytes is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="the chief clip, three minutes")
    amount.add_argument("--once", action="store_true", help="a tiny clip: only proves that everything starts")
    parser.add_argument("--budget", type=float, metavar="MINUTES", help="no pair starts after this (default 40)")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for a quiet machine")
    for name in ("task", "clip", "contender"):
        parser.add_argument(f"--{name}", nargs="+", metavar="NAME", help=f"only these; see the plan ({name})")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the results file (default: results/cpu.json)")
    options = parser.parse_args()

    start = time.monotonic()
    cells = _chosen(options)
    if not cells:
        parser.error("no cell of the plan is called so")
    contenders = _contenders(list(dict.fromkeys(cell.contender for cell in cells)))
    here = [cell for cell in cells if contenders[cell.contender]["absent"] is None]
    for clip in dict.fromkeys(cell.clip for cell in here):
        _say(f"clip {clip}: {clips.clip(clip)}")
    budget = options.budget * 60 if options.budget else _QUICK_SECONDS if options.quick else _BUDGET_SECONDS
    wait = 0.0 if options.no_wait or options.once else budget / 5
    measured = measure_all(here, next_turns=_next_turns, budget_seconds=budget, wait_seconds=wait, report=_say)
    entries = [
        schema.cell_entry(
            cell, measured.runs.get(cell, []), measured.failures.get(cell) or contenders[cell.contender]["absent"]
        )
        for cell in cells
    ]
    _, paired = _entries(measured)
    exactness, reached = _exactness(here)
    checked = [dataclasses.asdict(result) for result in exactness]
    reached += [*goals.of_exactness(checked), *goals.of_cells(entries, paired)]
    content = {
        "environment": environment.environment(time.monotonic() - start),
        "content": clips.content(),
        "clips": {clip: clips.facts(clip) for clip in dict.fromkeys(cell.clip for cell in cells)},
        "tasks": {name: task.what for name, task in plan.TASKS.items()},
        "contenders": contenders,
        "cells": entries,
        "pairs": paired,
        "exactness": checked,
        "goals": [goal.to_dict() for goal in reached],
    }
    for goal in reached:
        _say(_verdict(goal))
    partial = options.once or options.quick or options.task or options.clip or options.contender
    output = options.output or (None if partial else _RESULTS)
    if output is not None:
        schema.write(output, content)
        _say(f"wrote {output}")
    bytes_differ = any(not goal.passed and goal.unit == "frames" for goal in reached)
    return 1 if bytes_differ else 0


assert set(peers.MODULES) >= {name for task in plan.TASKS.values() for name in task.contenders}

if __name__ == "__main__":
    sys.exit(main())
