# SPDX-License-Identifier: Apache-2.0
"""The memory of tricodec's allocators: now, while a ``with`` block runs, and what a read takes before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from tricodec._tricodec import FrameReader, Transform, memory_use
from tricodec._tricodec import MemoryTracker as NativeTracker
from tricodec.measure._block import Measurement
from tricodec.show import format_table

if TYPE_CHECKING:
    from tricodec._tricodec import Source

_MEBIBYTE = 1 << 20
_READER_OPTIONS = ("device", "stream_index", "num_workers", "ignore_edit_list", "index", "context")


class AllocatorUse(NamedTuple):
    """Memory of an allocator."""

    in_use_bytes: int
    """Bytes of existing pictures and arrays, and of working decoders."""
    idle_bytes: int
    """Bytes that the allocator keeps for later requests."""


class TrackedAllocator(NamedTuple):
    """Memory of an allocator, and its events while a `MemoryTracker` ran."""

    in_use_bytes: int
    """Bytes in use now, or at the end of the block."""
    idle_bytes: int
    """Bytes that the allocator keeps for later requests."""
    peak_bytes: int
    """The greatest number of bytes in use at a time."""
    allocations: int
    """Number of requests to the system or the driver."""
    reuses: int
    """Number of requests that kept memory has served."""


class MemoryEvent(NamedTuple):
    """One event of an allocator."""

    seconds: float
    """Time in seconds since the start of the block."""
    allocator: str
    """Name of the allocator, as in `memory_stats`."""
    action: str
    """``allocate`` (from the system or the driver), ``reuse`` (of kept memory), ``release`` (back to the
    allocator, which keeps it) or ``free`` (back to the system or the driver)."""
    size_bytes: int
    """Size in bytes, as the allocator rounds it."""
    in_use_bytes: int
    """Bytes in use in this allocator after the event."""


def memory_stats() -> dict[str, AllocatorUse]:
    """Return the memory of tricodec's allocators in this process, by name.

        >>> tricodec.memory_stats()["host"].in_use_bytes >= 0
        True

    ``host`` is ordinary memory for pictures and arrays, ``pinned cuda:0`` is page-locked memory for a GPU, and ``device
    cuda:0`` is memory on it. ``decoders cuda:0`` is the memory of NVDEC's decoders, computed from their surfaces. A GPU
    appears after its first use. Memory that codec libraries take from the system does not count, nor does memory of the
    caller: ``out=`` arrays, buffers of DALI and Triton, allocators of `tricodec.compress`.

    Thread safety: safe.
    """
    return {name: AllocatorUse(in_use, idle) for name, in_use, idle in memory_use()}


class MemoryTracker(Measurement[NativeTracker]):
    """Records the use of tricodec's memory in the whole process, by all front ends and threads.

    Allocators are those of `memory_stats`. ``peak_bytes`` is the greatest need at a time. If sizes repeat and
    ``allocations`` still grow, the program holds something longer than expected.

    ::

        with tricodec.measure.MemoryTracker() as tracker:
            for batch in reader.batches(32, size=(224, 224)):
                train(batch)
        print(tracker)

    Args:
        max_events: number of the latest events to keep. An event takes about 100 bytes.

    Raises:
        ValueError: `max_events` is negative.

    Thread safety: safe. Several trackers may run at once. Without one an allocator checks one variable.
    """

    def __init__(self, max_events: SupportsIndex = 0) -> None:
        super().__init__(NativeTracker, max_events)

    @property
    def allocators(self) -> dict[str, TrackedAllocator]:
        """The allocators by name."""
        return {name: TrackedAllocator(*values) for name, *values in self._started().allocators()}

    @property
    def events(self) -> list[MemoryEvent]:
        """The latest `max_events` events in their order."""
        return [MemoryEvent(event[0] / 1e9, *event[1:]) for event in self._started().events()]

    def __str__(self) -> str:
        """A table in MiB with a line for each allocator."""
        if self._native is None:
            return "MemoryTracker: nothing seen yet"
        rows = [
            [name, *(round(size / _MEBIBYTE, 1) for size in use[:3]), use.allocations, use.reuses]
            for name, use in self.allocators.items()
        ]
        return format_table(["allocator", "in use", "idle", "peak", "allocations", "reuses"], rows)


class MemoryRequired(NamedTuple):
    """The greatest need for memory at a time, by the allocators of `MemoryTracker`."""

    host_bytes: int
    """Pictures and arrays in host memory: ``host`` of a `MemoryTracker`, with the result."""
    device_bytes: int
    """Pictures and arrays in a GPU's memory: ``device cuda:N``, with the result."""
    decoder_bytes: int
    """NVDEC's decoders: ``decoders cuda:N``."""
    codec_bytes: int
    """Memory that codec libraries take from the system for themselves. No allocator counts it, and it is a rough
    estimate. It has the pictures of AV1's software decoders, which do not use memory of tricodec."""


def memory_required(
    source: Source | FrameReader,
    *,
    batch_size: int | None = None,
    transform: Transform | None = None,
    **options: Any,
) -> MemoryRequired:
    """How much memory a read takes at its peak, without decoding.

    The request is `decode_video` or `FrameReader.batch`, or `FrameReader.batches` with `batch_size`. The answer
    includes the result, decoders and what is decoded ahead. It is for a loop that is slower than the decoders, and
    keeps its batch until it has the next one; a faster one has less decoded ahead.
    Memory that was there before, libraries and packets do not count. Only packets are read, to number the frames.

    ``limits.max_output_bytes`` refuses a result before it takes memory, and ``limits.max_buffered_bytes`` bounds what
    is decoded ahead (`set_limits`), so the answer depends on them.

    ::

        need = tricodec.measure.memory_required("video.mp4", batch_size=32, size=(224, 224), device="cpu")
        print(need.host_bytes / 2**20, "MiB")

    Args:
        source: as in `probe`; or an open FrameReader, with its options.
        batch_size: as in `FrameReader.batches`. None means one array with all frames.
        transform: as in `FrameReader.batch`.
        **options: the options of `decode_video` that select frames (start, count, times, fps, ...), options of
            `FrameReader` (device, num_workers, ...) for a source, and options of `Transform`.

    Raises:
        ValueError: an option is not accepted.
        TypeError: an open FrameReader is given with options of a reader.
        IndexError: the video does not have so many frames.
        Error: the other errors of `FrameReader`.

    Thread safety: safe.
    """
    readers = {name: options.pop(name) for name in _READER_OPTIONS if name in options}
    if isinstance(source, FrameReader):
        if readers:
            name = sorted(readers)[0]
            raise TypeError(f"{name} is an option of a reader, and source is an open FrameReader; leave it out")
        return MemoryRequired(*source._memory_required(batch_size, transform, **options))
    with FrameReader(source, **readers) as reader:
        return MemoryRequired(*reader._memory_required(batch_size, transform, **options))
