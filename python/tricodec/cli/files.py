# SPDX-License-Identifier: Apache-2.0
"""Files that commands write and read."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tricodec._tricodec import OutputFile


def refuse_own_source(source: str, target: str) -> None:
    """Raises ValueError if both name one file, which the command would replace."""
    with contextlib.suppress(OSError):  # mostly there is no target yet
        if Path(source).samefile(target):
            raise ValueError(f"{target} is the input itself, and would be lost; write to another name and rename it")


def require_regular(path: Path) -> None:
    """Raises ValueError for a folder, a pipe or a device: their size is unknown before they are read."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file; write its data to one first")


def new_file(path: Path, force: bool) -> OutputFile:
    """A file for a ``with`` block; with `force` it replaces another."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; overwrite it with --force, or name another with --output")
    return OutputFile(path)
