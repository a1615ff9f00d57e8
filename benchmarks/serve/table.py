# SPDX-License-Identifier: Apache-2.0
"""What docs/reference/triton_operation.md shows of benchmarks/results/serve.csv; benchmarks/table.py puts it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import goals
from benchmarks.results import Row
from benchmarks.serve.goals import goals_of
from benchmarks.serve.names import BENCH, EMPTY, IN_PROCESS, SHARED_MEMORY


def speeds(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """A line for each way and tool: speed, latencies, bytes on the wire, and the ratio of pairs."""
    lines = [goals.header(["request", "way", "measured by", "frames/s", "p50, p99 in ms", "MB on the wire", "ratio"])]
    figures = {(row.task, row.input, row.contender, row.setting): row for row in rows if not row.against}
    for (task, request, way, tool), row in figures.items():
        if task != "speed":
            continue
        p50, p99 = (figures.get((name, request, way, tool)) for name in ("p50", "p99"))
        wire = figures.get(("wire", request, way, ""))
        paired = [
            f"{each.value:.2f} of {each.against} ({each.low:.2f} to {each.high:.2f}, {each.runs} pairs)"
            for each in rows
            if each.against and (each.input, each.contender, each.setting) == (request, way, tool)
        ]
        latencies = ", ".join("-" if each is None else f"{each.value:.0f}" for each in (p50, p99))
        megabytes = "-" if wire is None or not wire.value else f"{wire.value / 1e6:.2f}"
        cells = [request, way, tool, f"{row.value:.0f}", latencies, megabytes, "; ".join(paired) or "-"]
        lines.append(goals.line(cells))
    where = (
        f"{facts['gpu']} with {facts['cores']} cores"
        if "gpu" in facts
        else f"{facts['cores']} cores of an {facts['cpu']}"
    )
    machine = f"{where}, {facts['date'][:10]}"
    return (
        f"{machine}; {facts['requests_at_a_time']} requests at a time, of a clip of H.264 at 1280x720. Compare "
        "ratios: they are medians over pairs of neighboring runs, with quartiles. The server has `isolation` "
        f"`{facts.get('isolation', 'process')}`. The load average was {facts['load_average']}. On a machine that "
        "other programs use, too, a way with more processes gets more time.\n\n"
        f"{''.join(lines)}\n{goals.counted(goals_of(rows))}.{_limits(rows)}\n"
    )


def _limits(rows: Sequence[Row]) -> str:
    """What Triton leaves of the speed in process, and what the server has of that."""
    ratios = {
        (row.input, row.contender): row.value
        for row in rows
        if (row.task, row.against, row.setting) == ("speed", IN_PROCESS, BENCH) and row.value is not None
    }
    parts = [
        f"{request} {limit:.2f}, of which the server through shared memory has "
        f"{ratios[request, SHARED_MEMORY] / limit:.2f}"
        for (request, contender), limit in ratios.items()
        if contender == EMPTY and (request, SHARED_MEMORY) in ratios
    ]
    if not parts:
        return ""
    return f" A request to a model without work, after decoding in process, leaves of the speed: {'; '.join(parts)}."
