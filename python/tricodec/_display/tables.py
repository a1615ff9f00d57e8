# SPDX-License-Identifier: Apache-2.0
"""Tables: as text by rich, and as HTML for notebooks."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

from tricodec._display.packages import needed

_WIDEST = 100_000  # no line of a table breaks, so that other programs can read it


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> str:
    """Columns as wide as their widest cell; columns of numbers, with their headings, are aligned to the right.

    Args:
        header: one heading for each column.
        rows: cells of any type, shown by str().
        indent: text before each line.

    Returns:
        The lines, without a newline at the end.
    """
    table = needed("rich.table", "rich", "tables").Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    text = needed("rich.text", "rich", "tables").Text
    for column, name in enumerate(header):
        justify = "right" if _is_numeric(rows, column) else "left"
        table.add_column(text(name), justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*(text(str(cell)) for cell in row))
    file = io.StringIO()
    needed("rich.console", "rich", "tables").Console(file=file, width=_WIDEST, color_system=None).print(table)
    return "\n".join(indent + line.rstrip() for line in file.getvalue().splitlines())


def html_table(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    caption: str = "",
    bars: Mapping[int, str] | None = None,
) -> str:
    """The same for a notebook.

    Args:
        header: one heading for each column.
        rows: cells of any type, shown by str() and escaped.
        caption: text above the table.
        bars: columns of numbers that are drawn as bars too, and the color of each.
    """
    numeric = [_is_numeric(rows, column) for column in range(len(header))]
    greatest = {column: max((float(str(row[column])) for row in rows), default=0.0) for column in bars or {}}
    lines = ["<table>"]
    if caption:
        lines.append(f'<caption style="caption-side:top;text-align:left">{html.escape(caption)}</caption>')
    lines.append("<tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in header) + "</tr>")
    for row in rows:
        cells = []
        for column, cell in enumerate(row):
            style = f"text-align:{'right' if numeric[column] else 'left'}"
            if column in greatest and greatest[column] > 0:
                share = 100 * float(str(cell)) / greatest[column]
                color = (bars or {})[column]
                style += f";min-width:12em;background:linear-gradient(90deg,{color} {share:.1f}%,transparent 0)"
            cells.append(f'<td style="{style}">{html.escape(str(cell))}</td>')
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</table>"])


def _is_numeric(rows: Sequence[Sequence[Any]], column: int) -> bool:
    return bool(rows) and all(
        isinstance(row[column], int | float) and not isinstance(row[column], bool) for row in rows
    )
