# SPDX-License-Identifier: Apache-2.0
"""Tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> str:
    """Columns as wide as their widest cell; columns of numbers, with their headings, are aligned to the right.

    Cells are shown by str(), and have no line breaks, so that other programs can read the table.
    """
    columns = []
    for number, heading in enumerate(header):
        cells = [row[number] for row in rows]
        texts = [heading, *map(str, cells)]
        width = max(map(len, texts))
        is_numeric = bool(cells) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)
        columns.append([text.rjust(width) if is_numeric else text.ljust(width) for text in texts])
    return "\n".join(indent + "  ".join(line).rstrip() for line in zip(*columns, strict=True))
