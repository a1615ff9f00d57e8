# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/notebooks as notebooks: pages of the site, and a run as a test.

A program has cells after lines `# %%` and, of text, `# %% [markdown]` with comments. Its first comment is the license.
A line `# needs: NAME ...` there names packages that the notebook needs beside tricodec's own.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from check_sources import ROOT

SOURCES = ROOT / "examples/notebooks"
_MARK = re.compile(r"^# %%( \[markdown\])?$", re.MULTILINE)
_SECONDS = 300


def needs(path: Path) -> list[str]:
    """The packages that a program needs."""
    found = re.search(r"^# needs: (.*)$", path.read_text(), re.MULTILINE)
    return found[1].split() if found else []


def cells(path: Path) -> list[tuple[str, str]]:
    """(kind, text) of the cells of a program: "markdown" or "code"."""
    parts = _MARK.split(path.read_text())[1:]
    found = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        if mark:
            lines = [line.removeprefix("#").removeprefix(" ") for line in text.strip().splitlines()]
            found.append(("markdown", "\n".join(lines)))
        else:
            found.append(("code", text.strip()))
    return found


def notebook(path: Path) -> Any:
    """The notebook of a program, without outputs."""
    import nbformat

    made = nbformat.v4.new_notebook()
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    made.cells = [make[kind](text, id=f"cell-{number}") for number, (kind, text) in enumerate(cells(path))]
    made.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    return made


def run(path: Path) -> Any:
    """The notebook of a program, with the outputs of a run in an empty folder.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised.
    """
    import nbclient

    made = notebook(path)
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(
            made, timeout=_SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    return made
