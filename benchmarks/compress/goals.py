# SPDX-License-Identifier: Apache-2.0
"""What tricodec's compression should reach, and whether the rows of a file do (docs/reference/benchmarks.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.goals import Goal, counted, header, line
from benchmarks.results import Row

OURS = "tricodec"
LIBRARY = "C library"
OFFICIAL = "nvcomp"
REFERENCES = (OURS, LIBRARY)  # all others are peers
BATCH = "1000x64KiB"
OF_LIBRARY = 0.95  # of the C library's speed on all cores
OF_PEER = 1.0  # of the best peer's speed
OF_OFFICIAL = {"one array": 0.98, BATCH: 1.5}  # of NVIDIA's package's speed
EQUAL_RATIO = 0.98  # a peer's ratio that is at least this part of ours

Groups = dict[tuple[str, str, str], list[Row]]


def grouped(rows: Iterable[Row]) -> Groups:
    """The rows by task, data and setting."""
    groups: Groups = {}
    for row in rows:
        groups.setdefault((row.task, row.input, row.setting), []).append(row)
    return groups


def _goal(ours: Row, pair: Row, speeds: dict[str, Row], target: float) -> Goal:
    name = f"{ours.input}.{ours.setting}.{ours.task}".replace(" ", "_")
    spread = pair.spread
    return Goal(name, ours.spread.median, "GB/s", target, pair.against, speeds[pair.against].value, spread.median,
                pairs=spread)  # fmt: skip


def _of_group(group: Sequence[Row]) -> Iterator[Goal]:
    speeds = {row.contender: row for row in group if not row.against}
    pairs = {row.against: row for row in group if row.against in speeds}
    ours = speeds[OURS]
    if OFFICIAL in pairs:
        yield _goal(ours, pairs[OFFICIAL], speeds, OF_OFFICIAL[ours.setting])
        return
    if LIBRARY in pairs:
        yield _goal(ours, pairs[LIBRARY], speeds, OF_LIBRARY)
    least = EQUAL_RATIO * (ours.ratio or 0)
    peers = [pair for name, pair in pairs.items() if name != LIBRARY and (speeds[name].ratio or 0) >= least]
    if peers:
        yield _goal(ours, min(peers, key=lambda pair: pair.spread.median), speeds, OF_PEER)


def goals_of(rows: Iterable[Row]) -> list[Goal]:
    """A goal against the C library on as many cores, and one against the fastest package of about the same ratio.

    On a GPU there is one, against NVIDIA's own package.
    """
    return [goal for group in grouped(rows).values() for goal in _of_group(group)]


def _range(goals: Sequence[Goal]) -> str:
    ratios = sorted(goal.judged for goal in goals)
    if not ratios:
        return "-"
    middle = (ratios[(len(ratios) - 1) // 2] + ratios[len(ratios) // 2]) / 2
    reached = sum(goal.passed for goal in goals)
    return f"{middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), {reached} of {len(ratios)}"


def summary(rows: Sequence[Row]) -> str:
    """A line an algorithm and way: the median ratio over data and chunk sizes, the range, and goals reached."""
    found = grouped(rows)
    kinds: list[tuple[str, list[str]]] = (
        [(f"of NVIDIA's package, {setting}", [setting, OFFICIAL]) for setting in OF_OFFICIAL]
        if any(row.contender == OFFICIAL for row in rows)
        else [("of the C library on all cores", [LIBRARY]), ("of the fastest package", [])]
    )
    lines = [header(["", *(name for name, _ in kinds)])]
    every: list[Goal] = []
    for task in dict.fromkeys(task for task, _, _ in found):
        goals = [(group, goal) for group, of in found.items() if group[0] == task for goal in _of_group(of)]
        every += [goal for _, goal in goals]
        cells = []
        for _, chosen in kinds:
            if OFFICIAL in chosen:
                cells.append(_range([goal for group, goal in goals if group[2] == chosen[0]]))
            else:
                cells.append(_range([goal for _, goal in goals if (goal.against == LIBRARY) == bool(chosen)]))
        lines.append(line([task, *cells]))
    return f"{''.join(lines)}\n{counted(every)}.\n"
