# SPDX-License-Identifier: Apache-2.0
"""What docs/reference/encoding.md shows of benchmarks/results/encode.csv; benchmarks/table.py puts it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import goals
from benchmarks.encode.goals import goals_of
from benchmarks.results import Row


def speeds(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """A line an encoder and preset: speed, and the ratio to the better of the peers."""
    lines = [goals.header(["", "tricodec", "best peer", "ratio", "CPU time of tricodec", "peak memory", "of ffmpeg"])]
    cells = {(row.task, row.input, row.setting, row.contender): row for row in rows if not row.against}
    found = goals_of(rows)
    for goal in found:
        task, what, setting = goal.name.split(".")[-3:]
        if goal.pairs is None or goal.ratio is None:
            continue
        ours, ffmpeg = (cells[task, what.replace("_", " "), setting, name] for name in ("tricodec", "ffmpeg"))
        ratio = f"{goal.ratio:.2f}x ({goal.pairs.low:.2f} to {goal.pairs.high:.2f})"
        speed = f"{goal.value:.4g} {goal.unit}"
        memory = [f"{row.memory_mb:.0f} MB" for row in (ours, ffmpeg)]
        lines.append(
            goals.line([f"{task} {what.replace('_', ' ')} {setting}", speed, goal.against, ratio,
                        f"{ours.cpu_ms:.1f} ms a frame", *memory])
        )  # fmt: skip
    errors = [row.spread.median for row in rows if row.task == "bit_rate"]
    held = {row.input: f"{row.value:.0f}" for row in rows if row.task == "latency" and row.setting.startswith("ultra")}
    rates = f"Constant and variable bit rates are met within {max(errors):.1f} %." if errors else ""
    delays = ", ".join(f"{codec} {frames}" for codec, frames in held.items())
    machine = f"{facts['cores']} cores of an {facts['cpu']}, {facts['date'][:10]}, two threads"
    return (
        f"{machine}; ratios are medians over pairs of neighboring runs, with their quartiles.\n\n{''.join(lines)}\n"
        f"{rates} Frames held back by `ultra_low_latency`: {delays}. {goals.counted(found)}.\n"
    )
