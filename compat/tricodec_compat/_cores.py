# SPDX-License-Identifier: Apache-2.0
"""The cores of this machine, shared by the threads and the processes of a program that decode at once."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

_IN_MEMORY = (bytes, bytearray, memoryview, io.BytesIO)


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def share_of_cores() -> int:
    """Number of workers of a reader: in a process of torch's DataLoader its share of the cores; elsewhere 0, all cores.

    Ranks of one machine share the cores too, as ``LOCAL_WORLD_SIZE`` of torchrun tells.
    """
    data = sys.modules.get("torch.utils.data")
    worker = data.get_worker_info() if data else None
    if worker is None:
        return 0
    processes: int = worker.num_workers * int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(1, num_cores() // processes)


_AT_ONCE_ON_A_GPU = 8
"""As many fill the decoders of an H200."""

# By device. The last ones count. In a forked child new ones do: the threads with the parent's turns do not exist there.
_turns = [{"cpu": threading.Semaphore(num_cores())}]
os.register_at_fork(after_in_child=lambda: _turns.append({"cpu": threading.Semaphore(num_cores())}))


def turn_to_decode(source: Any, device: str) -> contextlib.AbstractContextManager[Any]:
    """What a request of `source` waits for before it decodes on `device`, where many threads make requests.

    As many requests of files and of bytes decode on the CPU at once as there are cores, and 8 on a GPU. More decoders
    would evict each other's pictures from the caches, and all would hold the memory of their frames. Requests of other
    sources begin at once, because they may wait for a network. Thread safe.
    """
    local = isinstance(source, _IN_MEMORY) or (isinstance(source, str | Path) and Path(source).is_file())
    if not local:
        return contextlib.nullcontext()
    return _turns[-1].setdefault(device, threading.Semaphore(_AT_ONCE_ON_A_GPU))
