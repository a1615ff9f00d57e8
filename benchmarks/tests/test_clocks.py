# SPDX-License-Identifier: Apache-2.0
"""The comparison of `tricodec bench` with other clocks: its order, its ratios and what it says of them."""

from __future__ import annotations

from pathlib import Path

from benchmarks import clocks, clocks_table, results
from benchmarks.decode import clips
from benchmarks.results import Row

_CELL = Row("decode", "a clip", "tricodec bench")


def rows(*ratios: float) -> list[Row]:
    pairs = [({"wall clock": 100 * ratio}, {"wall clock": 100.0}) for ratio in ratios]
    return clocks.rows_of(_CELL, "plain loop", {"wall clock": "frames/s"}, pairs)


def test_the_two_clocks_take_turns_and_every_second_pair_is_reversed() -> None:
    order: list[str] = []

    def clock(name: str, figure: float) -> clocks.Figures:
        order.append(name)
        return {"speed": figure}

    pairs = list(clocks.pairs_of(lambda: clock("ours", 2.0), lambda: clock("other", 1.0), 3))

    assert order == ["ours", "other", "other", "ours", "ours", "other"]
    assert pairs == [({"speed": 2.0}, {"speed": 1.0})] * 3


def test_ratios_are_those_of_neighboring_runs_and_none_near_1_is_reported(tmp_path: Path) -> None:
    results.write(tmp_path / "clocks.csv", {}, rows(0.5, 0.98, 1.01, 1.02, 4.0))
    read = results.read(tmp_path / "clocks.csv")[1]

    ours, other, ratio = read
    assert (ours.value, other.value, ratio.value) == (101, 100, 1.01)
    assert (ratio.against, ratio.low, ratio.high, ratio.runs) == ("plain loop", 0.98, 1.02, 5)
    assert clocks.far_apart(read) == []


def test_clocks_that_differ_by_more_than_the_bound_are_reported_in_both_directions() -> None:
    for median in (0.96, 1.04):
        (found,) = clocks.far_apart(rows(0.9, median, 1.1))
        assert found.value == median


def test_the_table_has_both_figures_and_the_ratio() -> None:
    text = clocks_table.table({"cores": "2", "cpu": "processor", "date": "2026-11-26T00:00:00"}, rows(0.99, 1.0, 1.01))

    assert "| decode, a clip | wall clock | 100 frames/s | plain loop: 100 | 1.000 (0.995 to 1.005, 3 pairs) |" in text


def test_the_report_of_decoding_and_a_loop_count_frames_of_the_same_clip() -> None:
    found = clocks.decode_pairs(clips.clip("tiny"), 2)

    assert [(row.contender, row.against, row.setting) for row in found] == [
        (contender, against, setting)
        for setting in ("wall clock", "processor time")
        for contender, against in (("tricodec bench", ""), ("plain loop", ""), ("tricodec bench", "plain loop"))
    ]
    assert all(row.runs == 2 and row.spread.low > 0 for row in found)
    assert all(1 / 10 < row.spread.median < 10 for row in found if row.against)  # both count frames, in seconds
