# SPDX-License-Identifier: Apache-2.0
"""How things show themselves in notebooks and terminals: tables, pictures by Pillow and progress bars by rich.

Both packages are imported at their first use. They come with ``pip install tricodec[cli]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any


def needed(module: str, package: str, purpose: str) -> Any:
    """A module that only what is shown needs, or an ImportError, which begins with the purpose and has the remedy."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".", maxsplit=1)[0] != error.name.split(".")[0]:
            raise
        message = f"{purpose} need the package {package}, which is not installed; run: pip install {package}"
        raise ImportError(message) from error


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
