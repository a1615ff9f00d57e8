# SPDX-License-Identifier: Apache-2.0
"""Where the memory is."""

from __future__ import annotations

import operator
from typing import NamedTuple, SupportsIndex

from tricodec import _tricodec
from tricodec._measurement import Measurement

_MEBIBYTE = 1 << 20


class AllocatorUse(NamedTuple):
    """What an allocator has given out and what it keeps."""

    in_use_bytes: int
    """Given out: pictures and arrays that somebody holds, decoders that are at work."""
    idle_bytes: int
    """Kept for the next who asks."""


class TrackedAllocator(NamedTuple):
    """An allocator, and what came to pass while a `MemoryTracker` watched."""

    in_use_bytes: int
    """Given out now, or when the tracker was left."""
    idle_bytes: int
    """Kept for the next who asks."""
    peak_bytes: int
    """The most that was in use at a time."""
    allocations: int
    """How often memory was asked of the system or the driver."""
    reuses: int
    """How often memory that was kept did instead."""


class MemoryEvent(NamedTuple):
    """A piece of memory that was given out or came back."""

    seconds: float
    """Since the tracker was entered."""
    allocator: str
    """Its name, as in `memory_stats`."""
    action: str
    """``allocate`` (asked of the system or the driver), ``reuse`` (kept from before), ``release`` (came back and is
    kept), ``free`` (goes back to the system or the driver)."""
    size_bytes: int
    """As the allocator rounds it."""
    in_use_bytes: int
    """Of this allocator, after the event."""


def memory_stats() -> dict[str, AllocatorUse]:
    """What tricodec's allocators hold in this process, by their names.

    ``host`` is ordinary memory of pictures and arrays, ``pinned cuda:0`` page-locked memory for that GPU, ``device
    cuda:0`` memory on it, and ``decoders cuda:0`` what NVDEC's decoders take there for themselves, as far as it follows
    from their surfaces. A GPU is listed once something has worked on it. Not counted are what codec libraries ask
    of the system themselves and memory that the caller brought: ``out=`` arrays, DALI's and Triton's buffers,
    allocators of `tricodec.compress`.

    Thread safety: safe.
    """
    return {name: AllocatorUse(in_use, idle) for name, in_use, idle in _tricodec.memory_use()}


class MemoryTracker(Measurement[_tricodec.MemoryTracker]):
    """Watches tricodec's memory in the whole process between entering and leaving, by whichever door and thread.

    Allocators are those of `memory_stats`. ``peak_bytes`` says how much was needed at a time; ``allocations`` that go
    on where sizes repeat say that something is held longer than it seems.

    ::

        with tricodec.MemoryTracker() as tracker:
            for batch in reader.batches(32, size=(224, 224)):
                train(batch)
        print(tracker)

    Args:
        max_events: how many of the latest events to keep. Each takes some 100 bytes.

    Raises:
        ValueError: if `max_events` is negative.

    Thread safety: safe. Several may watch at once; while none does, an allocator looks at one variable.
    """

    def __init__(self, max_events: SupportsIndex = 0) -> None:
        super().__init__()
        self._max_events = operator.index(max_events)
        if self._max_events < 0:
            msg = f"max_events is {self._max_events}; it is how many of the latest events are kept, 0 or more"
            raise ValueError(msg)

    def _begin(self) -> _tricodec.MemoryTracker:
        return _tricodec.MemoryTracker(self._max_events)

    @property
    def allocators(self) -> dict[str, TrackedAllocator]:
        """The allocators by name."""
        return {name: TrackedAllocator(*values) for name, *values in self._started().allocators()}

    @property
    def events(self) -> list[MemoryEvent]:
        """The latest `max_events` events, the first one first."""
        return [MemoryEvent(event[0] / 1e9, *event[1:]) for event in self._started().events()]

    @property
    def dropped_events(self) -> int:
        """How many events were not kept."""
        return self._started().num_dropped_events()

    def __str__(self) -> str:
        """A table in MiB, a line for each allocator."""
        if self._native is None:
            return "MemoryTracker: nothing seen yet"
        lines = [f"{'allocator':<18}{'in use':>10}{'idle':>10}{'peak':>10}{'allocations':>13}{'reuses':>10}"]
        for name, use in self.allocators.items():
            sizes = "".join(f"{size / _MEBIBYTE:>10.1f}" for size in use[:3])
            lines.append(f"{name:<18}{sizes}{use.allocations:>13}{use.reuses:>10}")
        return "\n".join(lines)
