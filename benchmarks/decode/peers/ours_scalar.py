# SPDX-License-Identifier: Apache-2.0
"""tricodec's scalar engine: the kernels' oracle, and how much they gain. The engine is chosen once a process."""

from __future__ import annotations

import os
from collections.abc import Callable

os.environ["TRICODEC_DISABLE_CPU_FEATURES"] = "sse4,neon"

from benchmarks.decode.peers import Job, contender
from benchmarks.decode.peers.ours import TENSOR, kernel, versions

__all__ = ["versions"]


@contender("transform_rgb", "tricodec-scalar")
def transform_rgb(job: Job) -> Callable[[], int]:
    """Frames in memory to RGB."""
    return kernel(job)


@contender("transform_tensor", "tricodec-scalar")
def transform_tensor(job: Job) -> Callable[[], int]:
    """Frames in memory to 224x224 float32."""
    return kernel(job, **TENSOR)
