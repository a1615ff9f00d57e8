# SPDX-License-Identifier: Apache-2.0
"""Where time and memory go while a program runs; `tricodec.measure.bench` measures throughput and latency."""

from tricodec.measure._memory import (
    AllocatorUse,
    MemoryEvent,
    MemoryRequired,
    MemoryTracker,
    TrackedAllocator,
    memory_required,
    memory_stats,
)
from tricodec.measure._profiler import Profiler, StageEvent, StageTime

__all__ = [
    "AllocatorUse", "MemoryEvent", "MemoryRequired", "MemoryTracker", "Profiler", "StageEvent", "StageTime",
    "TrackedAllocator", "memory_required", "memory_stats",
]  # fmt: skip
