# SPDX-License-Identifier: Apache-2.0
"""Plain text tables."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> str:
    """Columns as wide as their widest cell; cells that are numbers, and their headings, are aligned to the right.

    Args:
        header: one heading for each column.
        rows: cells of any type, shown as str() does.
        indent: put before each line.

    Returns:
        The lines, without a newline at the end.
    """
    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    numeric = [
        bool(rows) and all(isinstance(row[column], int | float) and not isinstance(row[column], bool) for row in rows)
        for column in range(len(header))
    ]
    lines = []
    for row in cells:
        line = "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        lines.append(indent + line.rstrip())
    return "\n".join(lines)
