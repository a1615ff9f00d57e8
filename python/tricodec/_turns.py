# SPDX-License-Identifier: Apache-2.0
"""Turns of requests that many threads make at once, for servers of models.

Decoders that run at once evict each other's pictures from the caches, and hold the memory of all their frames. On two
cores, 32 requests at once take 1.4 times the processor time and 5 times the memory that they take two at a time
(docs/notes/2026-11-compat.md). Requests of data from a network do not wait: a network has no such bound.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any

_IN_MEMORY = (bytes, bytearray, memoryview)


def _one_a_core() -> threading.Semaphore:
    return threading.Semaphore(len(os.sched_getaffinity(0)))


# The last one counts. In a forked child a new one does: the threads that had the parent's turns do not exist there.
_turns = [_one_a_core()]
os.register_at_fork(after_in_child=lambda: _turns.append(_one_a_core()))


def turn_to_decode(source: Any, device: str) -> contextlib.AbstractContextManager[Any]:
    """What a request of `source` waits for before it decodes on `device`.

    Requests of files and of bytes on the CPU begin in the order in which they ask; others begin at once. Thread safe.
    """
    local = isinstance(source, _IN_MEMORY) or (isinstance(source, str | Path) and Path(source).is_file())
    return _turns[-1] if local and device == "cpu" else contextlib.nullcontext()
