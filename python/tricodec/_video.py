# SPDX-License-Identifier: Apache-2.0
"""The request that all doors share: a video in, an array of frames out."""

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
    """What `decode_video` returns."""

    frames: Any
    """[F, H, W, C] or [F, C, H, W], in the dtype that was asked for: a numpy array, a `DeviceArray` where a GPU
    decodes, or the `out` that was given."""
    pts_seconds: npt.NDArray[np.float64]
    """Presentation time of each frame in seconds, [F]."""
    num_damaged_packets: int = 0
    """Video packets that could not be decoded whole: `FrameReader.num_damaged_packets`. Those that are missing
    behind the end of a file that was cut off count as one. The number of threads changes nothing."""

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

    The DALI operator and the Triton model take the same words and return the same bytes.

    Args:
        source: a path (str or os.PathLike), bytes-like, or an object with read(n) and, if it can,
            seek(offset, whence). All that is read of one that cannot is kept, within ``max_spool_bytes`` of
            `set_limits`.
        start: number of the first frame in presentation order; negative counts from the end.
        stride: every stride-th frame, at least 1.
        count: how many frames; -1 = to the end.
        device: "auto", "cpu", "cuda" or "cuda:N". "auto" takes the GPU if it decodes the video exactly, else the CPU.
        stream_index: -1 is the best video stream.
        num_workers: decoders at work; 0 = from the cores (a GPU's engines), the codec and the size of pictures.
        ignore_edit_list: show what the container's edit list cuts away.
        out: an array of the result's shape and dtype to write the frames to, as `Transform` takes it: a numpy array, a
            torch tensor, shared memory, ..., with any strides, on the host or on the GPU; None allocates one.
        context: on a GPU, the CUDA context to work in, as `FrameReader` takes it.
        stream: of the caller's, for frames on a GPU, as `Transform` takes it: the call does not wait for the GPU, and
            what is queued on the stream afterwards sees the frames.
        pinned: allocate the frames in page-locked host memory where there is a GPU, wherever they are decoded.
        **transform_options: what `Transform` takes: crop, size, color, dtype, layout, mean, std, ...

    Returns:
        The frames and their times. By default uint8 RGB, [F, H, W, 3]. If `out` was given, it is `frames`. Of a damaged
        stream they are what could be decoded, and `num_damaged_packets` is not 0.

    Raises:
        ValueError: for options that are not accepted, or an `out` of another shape, read-only or on another GPU.
        TypeError: for an `out` of another dtype, or one that is no array.
        IndexError: if the video has not so many frames.
        CorruptDataError: if the video has no frames at all, and ``count`` is not 0.
        Error: in the kinds that `FrameReader` raises.

    Thread safety: safe.
    """
    transform = Transform(**transform_options)  # before the source is touched: an option may be wrong
    with FrameReader(
        source,
        device=device,
        stream_index=stream_index,
        num_workers=num_workers,
        ignore_edit_list=ignore_edit_list,
        context=context,
        stream=stream,
    ) as reader:
        if (start, stride, count) == (0, 1, -1):
            wanted: Any = slice(None)  # read before all packets are indexed
        else:
            wanted = reader.select(start=start, stride=stride, count=count)
            if count == -1:  # what this means changes with the number of frames, if that proves to be wrong
                wanted = slice(start, None, stride)
        frames = reader.batch(wanted, transform, out, pinned=pinned)
        return DecodedVideo(frames, reader.pts_seconds[wanted], reader.num_damaged_packets)
