# SPDX-License-Identifier: Apache-2.0
"""What serving should reach, judged from the rows of a results file."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.goals import Goal
from benchmarks.results import Row
from benchmarks.serve.names import BENCH, SHARED_MEMORY

IN_PROCESS_SHARE = 0.95


def goals_of(rows: Sequence[Row]) -> list[Goal]:
    """Through shared memory the speed of decoding in the caller's process."""
    speeds = {(row.input, row.contender, row.setting): row for row in rows if row.task == "speed" and not row.against}
    found = []
    for row in rows:
        if row.task != "speed" or not row.against or row.value is None:
            continue
        # perf_analyzer takes Triton's way, which copies an answer twice.
        is_ours = (row.contender, row.setting) == (SHARED_MEMORY, BENCH)
        target = IN_PROCESS_SHARE if is_ours else None
        ours = speeds[row.input, row.contender, row.setting]
        theirs = next(
            each for (request, name, _), each in speeds.items() if (request, name) == (row.input, row.against)
        )
        name = f"{row.input}, {row.contender} ({row.setting})"
        found.append(
            Goal(name, ours.spread.median, "frames/s", target, row.against, theirs.value, row.value, pairs=row.spread)
        )
    return found
