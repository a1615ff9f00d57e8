# SPDX-License-Identifier: Apache-2.0
"""What docs/explanation/performance.md shows of clocks.csv; benchmarks/table.py puts it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import goals
from benchmarks.results import Row


def table(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """The block of docs/explanation/performance.md: a line for each ratio."""
    figures = {(row.task, row.setting, row.contender): row for row in rows if not row.against}
    lines = [goals.header(["work", "figure", "`tricodec bench`", "other clock", "ratio of pairs"])]
    for row in rows:
        if row.against:
            ours, other = (figures[row.task, row.setting, name] for name in (row.contender, row.against))
            spread = row.spread
            ratio = f"{spread.median:.3f} ({spread.low:.3f} to {spread.high:.3f}, {spread.count} pairs)"
            speeds = (f"{ours.value:.4g} {ours.unit}", f"{row.against}: {other.value:.4g}")
            lines.append(goals.line([f"{row.task}, {row.input}", row.setting, *speeds, ratio]))
    where = f"{facts['cores']} cores of an {facts['cpu']}, {facts['date'][:10]}, in use by other programs too"
    return f"{where}; medians, with quartiles:\n\n{''.join(lines)}"
