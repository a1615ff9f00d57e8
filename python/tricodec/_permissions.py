# SPDX-License-Identifier: Apache-2.0
"""The permissions of files that are made of other files."""

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
