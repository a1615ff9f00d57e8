# SPDX-License-Identifier: Apache-2.0
"""memory_required(): how much memory a read takes, before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tricodec._tricodec import FrameReader, Transform

if TYPE_CHECKING:
    from tricodec._tricodec import Source


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
            msg = f"{sorted(readers)[0]} is an option of a reader, and source is an open FrameReader; leave it out"
            raise TypeError(msg)
        return MemoryRequired(*source._memory_required(batch_size, transform, **options))
    with FrameReader(source, **readers) as reader:
        return MemoryRequired(*reader._memory_required(batch_size, transform, **options))


_READER_OPTIONS = ("device", "stream_index", "num_workers", "ignore_edit_list", "index", "context")
