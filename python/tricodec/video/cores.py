# SPDX-License-Identifier: Apache-2.0
"""The cores of this machine, shared by the threads and the processes of a program that decode at once; their name."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from pathlib import Path


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


def processor() -> str:
    """The name of the processor."""
    # Line by line: the file of a machine with many cores takes milliseconds.
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
