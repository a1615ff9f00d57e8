# SPDX-License-Identifier: Apache-2.0
"""Files that commands write: their permissions, and whether they replace others."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


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


def is_there(path: str | Path) -> bool:
    """Whether a command would replace a file."""
    is_device = Path(path).parent in (Path("/dev"), Path("/dev/fd"))  # /dev/stdout may be a file
    return not is_device and Path(path).is_file()


def refuse_existing(path: str | Path, force: bool) -> None:
    """Raises FileExistsError for a file that is there, unless `force` says that a command may replace it."""
    if not force and is_there(path):
        raise FileExistsError(f"'{path}' exists; replace it with --force, or name another output")
