# SPDX-License-Identifier: Apache-2.0
"""What encoding and transcoding should reach, judged from the rows of a results file."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.goals import Goal
from benchmarks.results import Row


def goals_of(rows: Sequence[Row]) -> list[Goal]:
    """Not slower than the better of the others, no more memory than the command line, rates met, nothing held back."""
    found = []
    pairs: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.against:
            pairs.setdefault((row.task, row.input, row.setting), []).append(row)
    cells = {(row.task, row.input, row.setting, row.contender): row for row in rows if not row.against}
    for (task, what, setting, contender), row in cells.items():
        name = f"{task}.{what}.{setting}".replace(" ", "_")
        if contender != "tricodec" or row.value is None:
            continue
        if task in ("encode", "transcode"):
            best = min(pairs[task, what, setting], key=lambda each: each.spread.median)
            peer = cells[task, what, setting, best.against]
            found.append(Goal(name, row.value, row.unit, 1.0, best.against, peer.value, best.value, pairs=best.spread))
            mb, theirs = row.memory_mb or 0.0, cells[task, what, setting, "ffmpeg"].memory_mb or 0.0
            found.append(Goal(f"memory.{name}", mb, "MB", 1.0, "ffmpeg", theirs, theirs / max(mb, 1.0)))
        elif task == "bit_rate":
            found.append(Goal(name, row.value, "%", 5.0, at_least=False))
        elif setting == "ultra_low_latency" and what != "av1":  # SVT-AV1 has no mode without delay
            found.append(Goal(name, row.value, "frames", 0.0, at_least=False))
    return found
