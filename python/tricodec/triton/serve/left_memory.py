# SPDX-License-Identifier: Apache-2.0
"""Memory that the process of a model leaves when it is killed, and that the system gets back."""

from __future__ import annotations

import contextlib
import mmap
import re
import time
from collections.abc import Collection
from pathlib import Path

USED_SECONDS = 10.0
"""Triton may still look at the memory of a process for so long after its end."""
_SHARED_MEMORY = Path("/dev/shm")
_REGION = re.compile(r"tricodec_[\w-]+")


class LeftMemory:
    """Regions of /dev/shm that ended processes shared with a tritonserver.

    The server keeps such a region mapped until it ends, with all answers that were on their way. So it is emptied: the
    server still has its addresses, which hold zeros and take no memory.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._since: dict[str, float] = {}

    def add(self, region: str) -> None:
        """Note a region by its name; that of another program is left alone."""
        if _REGION.fullmatch(region):
            self._since.setdefault(region, time.monotonic())

    def release(self, used: Collection[str]) -> None:
        """Empty what has been left for some time. `used`: regions of processes that run."""
        for region, since in list(self._since.items()):
            if region in used or time.monotonic() - since < USED_SECONDS:
                continue
            try:
                _empty(_SHARED_MEMORY / region)
            except FileNotFoundError:
                del self._since[region]  # Triton removed it


def _empty(path: Path) -> None:
    with path.open("r+b") as file:
        if path.stat().st_blocks > 0:  # also if the server wrote there meanwhile
            with contextlib.suppress(ValueError), mmap.mmap(file.fileno(), 0) as memory:  # ValueError: of no size
                memory.madvise(mmap.MADV_REMOVE)
