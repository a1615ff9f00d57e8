# SPDX-License-Identifier: Apache-2.0
"""What runs beside what: the order of the first round, and which pairs are measured after it to decide the goals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from benchmarks import pairs
from benchmarks.decode import goals
from benchmarks.decode.plan import REFERENCES, TASKS, Cell
from benchmarks.results import Row

# Contenders so close to the best at a task may be the best of the next round.
_RIVAL = 1.1
# Pairs of a contest that is too close to call.
_MOST_PAIRS = 15

Key = tuple[str, str, int, str]  # task, clip, cores, contender


def compared(one: Cell, other: Cell) -> tuple[Cell, Cell] | None:
    """Ours and the peer that two neighboring runs compare; None if they do not."""
    if (one.task, one.clip) != (other.task, other.clip) or {one.contender, other.contender} & set(REFERENCES):
        return None
    more, fewer = sorted((one, other), key=lambda cell: -cell.cores)
    if more.cores != fewer.cores:  # two threads with one
        return (more, fewer) if more.contender == fewer.contender and more.contender.startswith("tricodec") else None
    ours = [cell for cell in (one, other) if cell.contender.startswith("tricodec")]
    if len(ours) != 1:
        return None
    return (one, other) if ours == [one] else (other, one)


def first_order(cells: Sequence[Cell]) -> list[Cell]:
    """The contenders of a group with ours between the peers that the plan names first: they are the strongest."""
    ours = [cell for cell in cells if cell.contender.startswith("tricodec") and cell.contender not in REFERENCES]
    others = [cell for cell in cells if cell not in ours]
    others.sort(key=lambda cell: cell.contender in REFERENCES)
    return [cell for both in itertools.zip_longest(others, ours) for cell in both if cell is not None]


def settled(first: Mapping[Cell, float]) -> dict[Key, Cell]:
    """Of the numbers of threads that the first round tried, the best, which alone takes part in the rounds of pairs.

    Args:
        first: the first figure of each cell that has one.
    """
    found: dict[Key, Cell] = {}
    for cell, value in first.items():
        key = (cell.task, cell.clip, cell.cores, cell.contender)
        known = found.get(key)
        if known is None or goals.better(TASKS[cell.task].unit, value, first[known]) > 1:
            found[key] = cell
    return found


def _near(figures: goals.Figures, contest: goals.Contest, result: goals.Result) -> tuple[list[str], list[str]]:
    """Our ways, and the contest's peers, with medians near the best: which is the best may change."""
    unit = TASKS[contest.task].unit

    def near(best: goals.Best, cores: int, names: Sequence[str]) -> list[str]:
        found = {name: figures.best(contest.task, contest.clip, cores, [name]) for name in names}
        return [name for name, one in found.items() if one and goals.better(unit, best.value, one.value) < _RIVAL]

    ways = [name for name in figures.contenders if name.startswith("tricodec")]
    if contest.cores != contest.peer_cores:
        return [result.ours.contender], [result.ours.contender]
    peers = contest.peers or [name for name in figures.contenders if name not in ways]
    return near(result.ours, contest.cores, ways), near(result.peer, contest.cores, peers)


def num_pairs(result: goals.Result) -> int:
    """How many pairs the ratio is of."""
    return result.pairs.count if result.pairs else 0


def is_open(contest: goals.Contest, result: goals.Result) -> bool:
    """Whether it is not known on which side of the target the ratio is, and more pairs may tell."""
    known = result.pairs or pairs.Spread.of([result.ratio])
    return not known.excludes(contest.target) and num_pairs(result) < _MOST_PAIRS


def _is_rough(result: goals.Result) -> bool:
    """Whether the ratio itself, on whichever side of its target, is not known well."""
    few = num_pairs(result) < pairs.FEWEST_PAIRS
    return few or (result.pairs is not None and result.pairs.is_vague and num_pairs(result) < _MOST_PAIRS)


def _turns(figures: goals.Figures, number: int, *, wants_open: bool) -> list[list[Key]]:
    """The next runs of each contest; those with the fewest pairs are first, and of these those near their target."""
    found: dict[tuple[Key, ...], tuple[int, float]] = {}  # contests of the same cells share the runs
    for contest in goals.contests(figures):
        result = contest.result(figures)
        if result is None or not (is_open(contest, result) if wants_open else _is_rough(result)):
            continue
        # Two rounds of four have the rivals as well, one forth and one back.
        near = _near(figures, contest, result) if number % 4 >= 2 else None
        ways, peers = near or ([result.ours.contender], [result.peer.contender])
        order = pairs.turn(
            [(contest.task, contest.clip, contest.cores, name) for name in ways],
            [(contest.task, contest.clip, contest.peer_cores, name) for name in peers],
            number,
        )
        found.setdefault(tuple(order), (num_pairs(result), abs(math.log(result.ratio / contest.target))))
    return [list(order) for order in sorted(found, key=found.__getitem__)]


def next_turns(rows: Sequence[Row], number: int) -> list[list[Key]]:
    """What to measure next, each entry without a break.

    Where a goal is not decided, a pair of ours with the best peer, and every other time with those near it; where all
    are decided, the contests with a ratio that is not known to 3 %.

    Args:
        rows: the figures and pairs so far.
        number: of the round of pairs, from 1; every second one is the other way round.
    """
    figures = goals.Figures(rows)
    return _turns(figures, number, wants_open=True) or _turns(figures, number, wants_open=False)
