# SPDX-License-Identifier: Apache-2.0
"""The machine's memory: copies of as many bytes as Transform reads and writes, a limit for its threads."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable

import numpy as np

from benchmarks.decode.peers import BATCH, SIZE, Job, contender

# A library opened with CDLL is called without the interpreter's lock.
_COPY = ctypes.CDLL(None).memcpy
_COPY.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_COPY.restype = ctypes.c_void_p


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {"libc": " ".join(platform.libc_ver())}


def _copies(job: Job, out_bytes: int) -> Callable[[], int]:
    """One copy for each frame of a batch, from and to memory of its own: half of the bytes are read, half written."""
    half = (job.width * job.height * 3 // 2 + out_bytes) // 2
    sources, targets = np.ones((BATCH, half), np.uint8), np.zeros((BATCH, half), np.uint8)

    def once() -> int:
        for source, target in zip(sources, targets, strict=True):
            _COPY(target.ctypes.data, source.ctypes.data, half)
        return BATCH

    return once


@contender("transform_rgb", "memcpy")
def transform_rgb(job: Job) -> Callable[[], int]:
    """4:2:0 in, RGB out: 4.5 bytes a pixel."""
    return _copies(job, job.width * job.height * 3)


@contender("transform_tensor", "memcpy")
def transform_tensor(job: Job) -> Callable[[], int]:
    """4:2:0 in, 224x224 float32 out."""
    return _copies(job, SIZE * SIZE * 3 * 4)
