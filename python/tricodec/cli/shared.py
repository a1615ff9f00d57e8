# SPDX-License-Identifier: Apache-2.0
"""What sub-commands share: sizes as text, tables, progress bars, warnings of damage, files that they write."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import tricodec
from tricodec._tricodec import OutputFile


def parse_size(text: str) -> tuple[int, int]:
    """(height, width) of "720x1280"; an argparse type."""
    height, separator, width = text.lower().partition("x")
    if not (separator and height.isdecimal() and width.isdecimal() and int(height) > 0 and int(width) > 0):
        message = f"{text!r} is not a size; write HEIGHTxWIDTH, such as 720x1280"
        raise argparse.ArgumentTypeError(message)
    return int(height), int(width)


def to_source(text: str) -> str | tricodec.RemoteSource:
    """A path as it is, and a URL of an object store or a web server as a remote source."""
    return tricodec.remote(text) if tricodec.is_remote_url(text) else text


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> str:
    """Columns as wide as their widest cell; cells that are numbers, and their headings, are aligned to the right.

    Args:
        header: one heading for each column.
        rows: cells of any type, shown by str().
        indent: text before each line.

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


_WIDTH = 30
_INTERVAL_SECONDS = 0.1


class Progress:
    """Counts work of a known or unknown length; silent unless standard error is a terminal."""

    def __init__(self, label: str, total: int | None = None) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._start = time.monotonic()
        self._shown = 0.0
        self._visible = sys.stderr.isatty()

    def set_total(self, total: int) -> None:
        """Changes the length, which was not known at first."""
        self._total = total

    def advance(self, count: int = 1) -> None:
        """Adds `count` to the work that is done."""
        self._done += count
        now = time.monotonic()
        if self._visible and (now - self._shown >= _INTERVAL_SECONDS or self._done == self._total):
            self._shown = now
            sys.stderr.write("\r" + self._line(now) + "\x1b[K")
            sys.stderr.flush()

    def _line(self, now: float) -> str:
        rate = self._done / max(now - self._start, 1e-6)
        if not self._total:
            return f"{self._label} {self._done} ({rate:.0f}/s)"
        filled = _WIDTH * self._done // self._total
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"{self._label} [{bar}] {self._done}/{self._total} ({rate:.0f}/s)"

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._visible and self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def warn_of_damage(name: str, num_packets: int, first: str = "") -> None:
    """Warns on standard error of packets of `name` that could not be decoded completely, if there are any."""
    if num_packets == 0:
        return
    number = "1 packet" if num_packets == 1 else f"{num_packets} packets"
    print(f"tricodec: warning: {name}: {number} damaged" + (f"; first: {first}" if first else ""), file=sys.stderr)


def refuse_own_source(source: str, target: str) -> None:
    """Raises ValueError if both names are one file, which the command would replace."""
    with contextlib.suppress(OSError):  # in most cases the target does not exist
        if Path(source).samefile(target):
            raise ValueError(f"{target} is the input itself, which would be lost; name another output")


@contextlib.contextmanager
def permissions_of(source: str | Path | None) -> Iterator[None]:
    """Makes new files with the permissions of the file `source` at most, as ``cp`` does. For the whole process."""
    withheld = 0
    with contextlib.suppress(OSError):  # the command reports it
        if source is not None and Path(source).is_file():
            withheld = 0o666 & ~Path(source).stat().st_mode
    before = os.umask(0o077)
    os.umask(before | withheld)
    try:
        yield
    finally:
        os.umask(before)


def require_regular(path: Path) -> None:
    """Raises ValueError for a folder, a pipe or a device: their size is unknown before they are read."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file; write its data to one first")


def new_file(path: Path, force: bool) -> OutputFile:
    """A file for a ``with`` block; with `force` it replaces another."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; overwrite it with --force, or name another with --output")
    return OutputFile(path)
