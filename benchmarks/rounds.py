# SPDX-License-Identifier: Apache-2.0
"""Which figures are taken again: those that decide whether a goal is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import goals
from plan import TASKS

# Single figures of the same cell have been so far apart on a virtual machine: what is missed may be reached, and what
# is reached by less may be missed.
_SAFE = 1.25
# Contenders so close to the best at a task may be the best of the next round.
_RIVAL = 1.1

Key = tuple[str, str, int, str]  # task, clip, cores, contender


def _groups(goal: goals.Goal, cells: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """What a goal is about: (task, clip, cores), of one number of cores or of all; nothing where it is no speed."""
    clip, _, rest = goal.name.partition(".")
    name, _, cores = rest.partition(".")
    task = name.removesuffix("_against_torchcodec")
    if task not in TASKS:
        return
    for count in sorted({cell["cores"] for cell in cells}):
        if not cores.endswith(("_core", "_cores")) or cores.startswith(f"{count}_"):
            yield task, clip, count


def _is_open(goal: goals.Goal) -> bool:
    judged = goal.value if goal.ratio is None else goal.ratio
    margin = judged / goal.target if goal.at_least else goal.target / judged
    return margin < _SAFE


def undecided(cells: Sequence[Mapping[str, Any]]) -> set[Key]:
    """The cells on which a goal depends that is missed, or reached by little.

    Those are ours, the peer or the limit that it names, and who may be the best as well.

    Args:
        cells: entries of a results file, as measured so far.
    """
    figures = goals.Figures(cells)
    found: set[Key] = set()
    for goal in filter(_is_open, goals.of_cells(cells)):
        for task, clip, cores in _groups(goal, cells):
            unit = TASKS[task].unit
            bests = [best for best in (figures.ours(task, clip, cores), figures.peer(task, clip, cores)) if best]
            for cell in figures.cells:
                name = cell["contender"]
                if (cell["task"], cell["clip"], cell["cores"]) != (task, clip, cores):
                    continue
                ours = name.startswith("tricodec")
                rivals = [best for best in bests if best.contender.startswith("tricodec") == ours]
                limits = name == "memcpy" and goal.of_limit is not None
                if (
                    name == goal.peer
                    or limits
                    or (
                        name in figures.contenders
                        and any(goals.better(unit, best.value, cell["median"]) < _RIVAL for best in rivals)
                    )
                ):
                    found.add((task, clip, cores, name))
    return found
