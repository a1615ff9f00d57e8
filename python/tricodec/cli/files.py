# SPDX-License-Identifier: Apache-2.0
"""Files that commands write: none empties its own source, none has its name before it is whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def refuse_own_source(source: str, target: str) -> None:
    """Raises ValueError if both name one file, which opening the target would empty before it is read."""
    with contextlib.suppress(OSError):  # mostly there is no target yet; else whoever opens them tells
        if Path(source).samefile(target):
            raise ValueError(f"{target} is the input itself, which would be lost; write to another name and rename it")


def require_regular(path: Path) -> None:
    """Raises ValueError for a folder, a pipe or a device, whose size is not known before it is read."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file; write what it gives to one first")


@contextlib.contextmanager
def new_file(path: Path, force: bool) -> Iterator[BinaryIO]:
    """Opens a file that has its name only when the block ends well; with `force` it takes the place of another.

    Pipes and devices are written to as they are.
    """
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; overwrite it with --force, or name another with --output")
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    target = path.resolve()  # a link stays one
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _opened(part, path) as file:
            yield file
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _opened(part: Path, path: Path) -> BinaryIO:
    try:
        return part.open("xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None  # the name that the user gave
