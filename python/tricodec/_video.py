# SPDX-License-Identifier: Apache-2.0
"""decode_video(), the request of all front ends: from a video to an array of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tricodec._tricodec import FrameReader, Transform

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tricodec._tricodec import Source


@dataclass(frozen=True, slots=True, eq=False)
class DecodedVideo:
    """The result of `decode_video`."""

    frames: Any
    """The frames, [F, H, W, C] or [F, C, H, W], in the requested dtype: a numpy array, a `DeviceArray` if a GPU
    decoded, or the given `out`."""
    pts_seconds: npt.NDArray[np.float64]
    """Presentation time of each frame in seconds, float64 [F]."""
    num_damaged_packets: int = 0
    """Number of video packets that could not be decoded completely: `FrameReader.num_damaged_packets`. All packets that
    are missing at the end of a file that was cut off count as one. The number of threads has no effect on it."""

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.frames)

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.frames.shape))
        number = self.num_damaged_packets
        damage = f", {number} damaged packet{'s' * (number > 1)}" if number else ""
        return f"<tricodec.DecodedVideo {self.frames.dtype} [{shape}]{damage}>"


def decode_video(
    source: Source,
    *,
    start: int = 0,
    stride: int = 1,
    count: int = -1,
    device: str = "auto",
    stream_index: int = -1,
    num_workers: int = 0,
    ignore_edit_list: bool = False,
    out: Any = None,
    context: Any = None,
    stream: Any = None,
    pinned: bool = False,
    **transform_options: Any,
) -> DecodedVideo:
    """Decode frames of a video into one array.

    The DALI operator and the Triton model take the same keywords and return the same bytes.

    Args:
        source: as `probe` takes it. All data of an object that cannot seek are kept, within ``max_spool_bytes`` of
            `set_limits`.
        start: number of the first frame in presentation order; a negative number counts from the end.
        stride: distance from one frame to the next, at least 1: every stride-th frame.
        count: number of frames; -1 is all to the end.
        device: "auto", "auto:N", "cpu", "cuda" or "cuda:N". "auto" is the GPU if it decodes the video exactly, else
            the CPU. TRICODEC_DEVICE replaces "auto".
        stream_index: number of the video stream; -1 is the best one.
        num_workers: as `FrameReader` takes it.
        ignore_edit_list: include the frames that the container's edit list removes.
        out: as `FrameReader.batch` takes it.
        context: as `FrameReader` takes it.
        stream, pinned: as `Transform` takes them.
        **transform_options: options of `Transform`: crop, size, color, dtype, layout, mean, std, ...

    Returns:
        The frames and their times, by default uint8 RGB, [F, H, W, 3]. A given `out` is ``frames``. For a damaged
        stream the result has all frames that could be decoded, and ``num_damaged_packets`` is not 0.

    Raises:
        ValueError: an option is not accepted, or `out` has another shape, is read-only or is on another GPU.
        TypeError: `out` has another dtype or is no array.
        IndexError: the video does not have so many frames.
        CorruptDataError: the video has no frames at all, and `count` is not 0.
        Error: the other errors of `FrameReader`.

    Thread safety: safe.
    """
    transform = Transform(**transform_options)  # first, to find wrong options before the source is opened
    with FrameReader(
        source, device=device, stream_index=stream_index, num_workers=num_workers, ignore_edit_list=ignore_edit_list,
        context=context, stream=stream,
    ) as reader:  # fmt: skip
        return read_video(reader, transform, start, stride, count, out, pinned=pinned)


def read_video(
    reader: FrameReader,
    transform: Transform,
    start: int,
    stride: int,
    count: int,
    out: Any = None,
    *,
    pinned: bool = False,
) -> DecodedVideo:
    """What `decode_video` does with an open reader."""
    if (start, stride, count) == (0, 1, -1):
        wanted: Any = slice(None)  # reading starts before all packets are indexed
    else:
        wanted = reader.select(start=start, stride=stride, count=count)
        if count == -1:  # a slice adapts if the number of frames proves to be wrong
            wanted = slice(start, None, stride)
    frames = reader.batch(wanted, transform, out, pinned=pinned)
    return DecodedVideo(frames, reader.pts_seconds[wanted], reader.num_damaged_packets)
