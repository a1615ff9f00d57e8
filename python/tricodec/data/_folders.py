# SPDX-License-Identifier: Apache-2.0
"""The files in a folder and below it, and those that cannot be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

SUFFIXES = frozenset(
    ".mp4 .m4v .mov .qt .3gp .3g2 .mkv .webm .avi .ts .mts .m2ts .mpg .mpeg .m2v .vob .flv .f4v .wmv .asf .ogv .ogg "
    ".mxf .ivf .obu .av1 .h264 .264 .avc .h265 .265 .hevc .mjpeg .mjpg .gif".split()
)  # fmt: skip
"""Names of videos end with one of them."""


def files_below(folder: str, accepts: Callable[[str], bool]) -> Iterator[tuple[str, Exception | None]]:
    """Paths of files, in order, each with the reason why it cannot be read or None.

    Hidden files and links to folders are left out. A folder that may not be listed is given too, with its error.

    Args:
        folder: the folder.
        accepts: whether a file counts, by its name.
    """
    failed: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=failed.append):
        yield from ((error.filename, error) for error in failed)
        failed.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and accepts(name):
                path = os.path.join(parent, name)  # noqa: PTH118
                yield path, _error_of(path)
    yield from ((error.filename, error) for error in failed)


def _error_of(path: str) -> Exception | None:
    """Why a path is not a file: a link that leads nowhere; a pipe, for which a reader would wait."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except OSError as error:
        return error
    if stat.S_ISREG(mode):
        return None
    return ValueError(f"'{path}' is a pipe, a socket or a device, and not a file")
