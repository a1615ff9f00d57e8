# SPDX-License-Identifier: Apache-2.0
"""Tables as text, by rich."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from tricodec._display import needed

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


def _is_numeric(rows: Sequence[Sequence[Any]], column: int) -> bool:
    return bool(rows) and all(
        isinstance(row[column], int | float) and not isinstance(row[column], bool) for row in rows
    )
