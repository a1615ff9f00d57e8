# SPDX-License-Identifier: Apache-2.0
"""Ratios are those of neighboring runs, and time goes to the goals that they do not decide."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from benchmarks import pairs
from benchmarks.decode import driver, goals, plan, rounds, run
from benchmarks.pairs import Spread
from benchmarks.results import Row


def _cell(task: str, contender: str, *, cores: int = 1, clip: str = plan.CHIEF) -> plan.Cell:
    return plan.Cell(task, clip, contender, cores, cores)


def _row(task: str, contender: str, values: list[float], **of: Any) -> Row:
    return run.row_of(_cell(task, contender, **of), [driver.Run(value, 7.0, 100) for value in values])


def _pair(task: str, peer: str, ratios: list[float], *, cores: int = 1) -> Row:
    return run.pair_row(_cell(task, "tricodec", cores=cores), _cell(task, peer, cores=cores), ratios)


def _names(turns: Sequence[Sequence[rounds.Key]]) -> list[list[str]]:
    return [[name for _, _, _, name in turn] for turn in turns]


@pytest.mark.parametrize("number", [0, 1], ids=["forth", "back"])
@pytest.mark.parametrize(
    ("ours", "peers"), [("o", "a"), ("o", "ab"), ("o", "abc"), ("op", "a"), ("op", "abc")], ids="{}".format
)
def test_each_peer_runs_beside_each_of_ours(ours: str, peers: str, number: int) -> None:
    order = pairs.turn(ours, peers, number)

    neighbors = {frozenset(both) for both in itertools.pairwise(order)}
    assert {frozenset(both) for both in itertools.product(ours, peers)} <= neighbors


def test_every_second_turn_is_the_other_way_round() -> None:
    assert [pairs.turn("o", "a", number) for number in range(3)] == [["a", "o"], ["o", "a"], ["a", "o"]]


@pytest.mark.parametrize(
    ("ratios", "target", "expected"),
    [
        ([1.3], 1.0, True),
        ([1.2], 1.0, False),
        ([1.3, 1.2], 1.0, False),
        ([0.75, 0.7], 1.0, True),
        ([2.0], 1.7, False),
        ([1.05, 1.05, 1.05], 1.0, False),
        ([1.05] * 5, 1.0, True),
        ([0.95] * 5, 1.0, True),
        ([0.95, 1.15, 0.9, 1.2, 1.05], 1.0, False),
        ([1.03] * 7, 1.0, False),
        ([1.03] * 15, 1.0, True),
    ],
    ids=[
        "one_far",
        "one",
        "two",
        "two_far_below",
        "one_near_another_target",
        "three",
        "five",
        "five_below",
        "scattered",
        "near",
        "many",
    ],
)
def test_a_median_decides_if_it_is_farther_from_the_target_than_it_may_be_wrong(
    ratios: list[float], target: float, expected: bool
) -> None:
    assert Spread.of(ratios).excludes(target) == expected


def test_a_goal_has_the_ratio_of_the_pairs_and_the_medians_of_the_runs() -> None:
    # Ours met the slow state of the machine twice, the peer once; side by side ours was always ahead.
    cells = [_row("rgb", "tricodec", [120.0, 100.0, 98.0]), _row("rgb", "opencv", [108.0, 107.0, 90.0])]
    paired = [_pair("rgb", "opencv", [1.11, 1.12, 1.13, 1.12])]

    (goal, _) = goals.of_rows([*cells, *paired])

    assert (goal.value, goal.against_value) == (100.0, 107.0)
    assert goal.ratio == pytest.approx(1.12)
    assert goal.pairs == Spread(pytest.approx(1.12), pytest.approx(1.1175), pytest.approx(1.1225), 4)
    assert (goal.decided, goal.passed) == (False, True)


def test_a_goal_without_pairs_has_the_ratio_of_the_medians_and_says_of_no_pairs() -> None:
    cells = [_row("first", "tricodec", [20.0]), _row("first", "opencv", [80.0])]

    (goal, _) = goals.of_rows(cells)

    assert goal.ratio == pytest.approx(4.0)
    assert (goal.pairs, goal.decided) == (None, True)


def test_two_threads_are_compared_with_one_in_pairs() -> None:
    cells = [_row("readers", "tricodec", [100.0]), _row("readers", "tricodec", [150.0], cores=2)]
    both = _cell("readers", "tricodec", cores=2), _cell("readers", "tricodec")

    alone = goals.of_rows(cells)
    in_pairs = goals.of_rows([*cells, run.pair_row(*both, [1.9, 1.95, 1.85])])

    assert (alone[0].ratio, alone[0].passed) == (pytest.approx(1.5), False)
    assert (in_pairs[0].ratio, in_pairs[0].passed) == (pytest.approx(1.9), True)
    assert _names(rounds.next_turns(cells, 0)) == [["tricodec", "tricodec"]]
    assert {cores for _, _, cores, _ in rounds.next_turns(cells, 0)[0]} == {1, 2}


def test_time_goes_to_the_goals_that_are_not_decided_with_those_near_the_best() -> None:
    cells = [
        _row("nv12", "tricodec", [125.0]),
        _row("nv12", "pyav", [100.0]),
        _row("nv12", "imageio-ffmpeg", [95.0]),
        _row("nv12", "ffmpeg-pipe", [80.0]),
        _row("first", "tricodec", [20.0]),
        _row("first", "pyav", [80.0]),
        _row("random", "tricodec", [900.0]),
        _row("random", "pyav", [500.0]),
        _row("tensor_plain", "tricodec", [100.0]),
        _row("tensor_plain", "tricodec-batch", [99.0]),
        _row("tensor_plain", "opencv", [98.0]),
    ]

    first, second = rounds.next_turns(cells, 1), rounds.next_turns(cells, 2)

    won_or_missed_by_far = {"first", "random"}
    assert _names(first) == [["tricodec", "pyav"], ["tricodec", "opencv"]]
    assert _names(second) == [
        ["pyav", "tricodec", "imageio-ffmpeg"],
        ["opencv", "tricodec", "opencv", "tricodec-batch"],
    ]
    assert not won_or_missed_by_far & {task for turn in first + second for task, _, _, _ in turn}


def test_what_has_the_fewest_pairs_is_measured_first() -> None:
    cells = [_row(task, name, [100.0]) for task in ("yuv420p", "tensor_plain") for name in ("tricodec", "pyav-views")]

    turns = rounds.next_turns([*cells, _pair("yuv420p", "pyav-views", [1.0])], 0)

    assert [turn[0][0] for turn in turns] == ["tensor_plain", "yuv420p"]


def test_decided_goals_get_pairs_when_none_is_open_until_their_ratio_is_known() -> None:
    cells = [
        _row("first", "tricodec", [20.0]),
        _row("first", "pyav", [80.0]),
        _row("nv12", "tricodec", [150.0]),
        _row("nv12", "pyav", [100.0]),
    ]
    far = [1.5, 1.51, 1.52]

    assert _names(rounds.next_turns([*cells, _pair("nv12", "pyav", far)], 1)) == [["tricodec", "pyav"]]
    assert rounds.next_turns([*cells, _pair("nv12", "pyav", far), _pair("first", "pyav", [4.0] * 3)], 1) == []
    scattered = [1.5, 1.7, 1.9]
    assert rounds.next_turns([*cells, _pair("nv12", "pyav", scattered), _pair("first", "pyav", [4.0] * 3)], 1) != []


def test_a_contest_too_close_to_call_ends_after_fifteen_pairs() -> None:
    cells = [_row("tensor_plain", "tricodec", [97.0]), _row("tensor_plain", "pyav+cv2", [100.0])]
    even = [0.9, 1.04] * 7

    assert rounds.next_turns([*cells, _pair("tensor_plain", "pyav+cv2", even)], 0) != []
    assert rounds.next_turns([*cells, _pair("tensor_plain", "pyav+cv2", [*even, 0.97])], 0) == []


def test_ours_runs_between_the_strongest_peers_in_the_first_round() -> None:
    names = ["tricodec", "tricodec-copy", "ffmpeg-null", "pyav-views", "pyav", "ffmpeg-pipe"]

    order = rounds.first_order([_cell("yuv420p", name) for name in names])

    assert [cell.contender for cell in order] == [
        "pyav-views", "tricodec", "pyav", "tricodec-copy", "ffmpeg-pipe", "ffmpeg-null",
    ]  # fmt: skip


def test_references_and_other_work_are_not_compared() -> None:
    ours, peer = _cell("rgb", "tricodec"), _cell("rgb", "pyav")

    assert rounds.compared(ours, peer) == rounds.compared(peer, ours) == (ours, peer)
    assert rounds.compared(ours, _cell("nv12", "pyav")) is None
    assert rounds.compared(ours, _cell("rgb", "pyav", clip="hevc_720p")) is None
    assert rounds.compared(ours, _cell("rgb", "pyav", cores=2)) is None
    assert rounds.compared(_cell("transform_rgb", "tricodec"), _cell("transform_rgb", "memcpy")) is None
    assert rounds.compared(peer, _cell("rgb", "opencv")) is None


class _Machine:
    """One with a speed that changes by a fifth now and then, and on which ours is always 1.1 times as fast."""

    def __init__(self, fails: str = "") -> None:
        self._states: Iterator[float] = itertools.cycle([1.0] * 6 + [0.8] * 7)
        self._fails = fails
        self.order: list[str] = []

    def measure(self, cell: plan.Cell) -> driver.Run:
        if cell.contender == self._fails and cell.contender in self.order:
            raise driver.Failed("no more")
        self.order.append(cell.contender)
        speed = next(self._states) * (110.0 if cell.contender == "tricodec" else 100.0)
        return driver.Run(speed, 7.0, 100)


def _measure(
    machine: _Machine, monkeypatch: pytest.MonkeyPatch, *, budget_seconds: float, rounds_of_pairs: int = 20
) -> driver.Measured:
    monkeypatch.setattr(driver, "measure", machine.measure)
    ours, peer, reference = (_cell("yuv420p", name) for name in ("tricodec", "pyav", "ffmpeg-null"))

    def next_turns(_: driver.Measured, number: int) -> list[list[plan.Cell]]:
        return [pairs.turn([ours], [peer], number)] if number <= rounds_of_pairs else []

    return driver.measure_all(
        [ours, reference, peer], next_turns=next_turns, budget_seconds=budget_seconds, report=print
    )


def test_pairs_see_through_a_machine_of_two_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = _Machine()

    measured = _measure(machine, monkeypatch, budget_seconds=3600)

    ((both, ratios),) = measured.pairs.items()
    assert [cell.contender for cell in both] == ["tricodec", "pyav"]
    assert len(ratios) == 21  # the first round has one of them
    assert max(ratios) > 1.3
    assert min(ratios) < 0.9
    assert Spread.of(ratios).median == pytest.approx(1.1)
    assert machine.order[:5] == ["pyav", "tricodec", "ffmpeg-null", "tricodec", "pyav"]


def test_the_first_round_is_finished_whatever_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = _measure(_Machine(), monkeypatch, budget_seconds=0)

    assert [len(runs) for runs in measured.runs.values()] == [1, 1, 1]


def test_a_contender_that_fails_later_keeps_its_figures_and_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = _Machine(fails="pyav")

    measured = _measure(machine, monkeypatch, budget_seconds=3600)

    runs = {cell.contender: len(taken) for cell, taken in measured.runs.items()}
    assert runs == {"tricodec": 2, "ffmpeg-null": 1, "pyav": 1}
    assert [str(why) for why in measured.failures.values()] == ["no more"]
