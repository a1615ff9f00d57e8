# SPDX-License-Identifier: Apache-2.0
"""How things show themselves in notebooks and terminals: tables, pictures by Pillow and progress bars by rich.

Both packages are imported at their first use. They come with ``pip install tricodec[cli]``.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def needed(module: str, package: str, purpose: str) -> Any:
    """A module of an optional package, or an ImportError, which begins with the purpose and has the remedy."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".", maxsplit=1)[0] != error.name.split(".")[0]:
            raise
        remedy = f"run: pip install {shlex.quote(package)}"
        raise ImportError(f"{purpose} need the package {package}, which is not installed; {remedy}") from error


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> str:
    """Columns as wide as their widest cell; columns of numbers, with their headings, are aligned to the right."""
    columns = []
    for number, heading in enumerate(header):
        cells = [row[number] for row in rows]
        texts = [heading, *map(str, cells)]
        width = max(map(len, texts))
        is_numeric = bool(cells) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)
        columns.append([text.rjust(width) if is_numeric else text.ljust(width) for text in texts])
    return "\n".join(indent + "  ".join(line).rstrip() for line in zip(*columns, strict=True))


class Progress:
    """Counts work of a known or unknown length, with rate and remaining time.

    Silent, and without rich, unless standard error is a terminal and rich is installed. The bar goes when the ``with``
    block ends.

    Thread safety: safe.
    """

    def __init__(self, label: str, total: int | None = None) -> None:
        """Make a bar, which the ``with`` block shows. Without the total it shows no remaining time."""
        self._label = label
        self._total = total
        self._bar: Any = None
        self._task: Any = None

    def advance(self, count: int = 1) -> None:
        """Adds `count` to the work that is done."""
        if self._bar is not None:
            self._bar.advance(self._task, count)

    def show(self, done: int, total: int | None = None) -> None:
        """Sets how much is done, and of what length."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total or None)

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and find_spec("rich") is not None:
            self._bar = _bar()
            self._task = self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar() -> Any:
    from rich import progress
    from rich.console import Console

    class Rate(progress.ProgressColumn):
        """Steps per second."""

        def render(self, task: progress.Task) -> Any:
            return f"{task.finished_speed or task.speed or 0:.0f}/s"

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False), progress.BarColumn(), progress.MofNCompleteColumn(),
        Rate(), progress.TimeRemainingColumn(compact=True),
        console=Console(file=sys.stderr), transient=True,
    )  # fmt: skip
