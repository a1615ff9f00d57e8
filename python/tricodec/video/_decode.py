# SPDX-License-Identifier: Apache-2.0
"""decode_video(), the request of all front ends: from a video to an array of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from tricodec._option_types import ArrayT
from tricodec._tricodec import FrameReader
from tricodec.options import request_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    from tricodec._option_types import DecodeOptions, Device, RequestOptions
    from tricodec._tricodec import DeviceArray, Source, Transform

elsewhere: Callable[..., DecodedVideo[Any]] | None = None
"""What `decode_video` calls in place of decoding in this process; `tricodec.node.use` sets it."""

_OF_READER = (
    "device", "stream_index", "num_workers", "ignore_edit_list", "out", "context", "stream", "pinned",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class DecodedVideo(Generic[ArrayT]):
    """The frames that `decode_video` has decoded, and their times.

    >>> tricodec.decode_video(tricodec.sample_video(), times=[1.0, 2.48], size=(90, 160))
    <tricodec.DecodedVideo uint8 [2, 90, 160, 3]>
    """

    frames: ArrayT
    """The frames, [F, H, W, C] or [F, C, H, W], in the requested dtype: a numpy array, a `DeviceArray` if a GPU
    decoded, or the given `out`."""
    pts_seconds: npt.NDArray[np.float64]
    """Presentation time of each frame in seconds, float64 [F]."""
    num_damaged_packets: int = 0
    """Number of video packets that could not be decoded completely: `FrameReader.num_damaged_packets`. All packets that
    are missing at the end of a file that was cut off count as one. The number of threads has no effect on it."""
    indices: npt.NDArray[np.int64] | None = None
    """Number of each frame in the video, int64 [F]. A server's client leaves it out."""
    asked_seconds: npt.NDArray[np.float64] | None = None
    """The time that was asked for, of each frame, float64 [F]: of ``times`` and of ``fps`` each instant, else
    ``pts_seconds``. A server's client leaves it out."""
    num_shared_frames: int = 0
    """Number of frames that a node had decoded for an earlier request: `tricodec.node`."""

    def __len__(self) -> int:
        """Number of frames."""
        frames: Any = self.frames
        return len(frames)

    def __repr__(self) -> str:
        frames: Any = self.frames
        shape = ", ".join(map(str, frames.shape))
        number = self.num_damaged_packets
        damage = f", {number} damaged packet{'s' * (number > 1)}" if number else ""
        return f"<tricodec.DecodedVideo {frames.dtype} [{shape}]{damage}>"

    def _repr_png_(self) -> bytes | None:
        """The frames, or 16 across them; None, which shows repr(), if they are no pictures of uint8 and HWC."""
        from tricodec.show.pictures import png_of_batch

        return png_of_batch(self.frames)


@overload
def decode_video(
    source: Source, *, device: Literal["cpu"], **options: Unpack[DecodeOptions]
) -> DecodedVideo[npt.NDArray[Any]]: ...
@overload
def decode_video(
    source: Source, *, device: Literal["cuda"], **options: Unpack[DecodeOptions]
) -> DecodedVideo[DeviceArray]: ...
@overload
def decode_video(source: FrameReader[ArrayT], **options: Unpack[RequestOptions]) -> DecodedVideo[ArrayT]: ...
@overload
def decode_video(
    source: Source | FrameReader[Any],
    *,
    device: Device = "auto",
    out: Any = None,
    pinned: bool = False,
    **options: Unpack[DecodeOptions],
) -> DecodedVideo[Any]: ...
def decode_video(
    source: Source | FrameReader[Any],
    *,
    device: Device = "auto",
    stream_index: int = -1,
    num_workers: int = 0,
    ignore_edit_list: bool = False,
    out: Any = None,
    context: Any = None,
    stream: Any = None,
    pinned: bool = False,
    **options: Any,
) -> DecodedVideo[Any]:
    """Decode frames of a video into one array. DALI's operator and Triton's model return the same bytes.

        >>> video = tricodec.decode_video(tricodec.sample_video(), fps=2, size=(224, 224), device="cpu")
        >>> video.frames.shape, video.frames.dtype, video.pts_seconds[:3].tolist()
        ((11, 224, 224, 3), dtype('uint8'), [0.0, 0.48, 1.0])

    Args:
        source: as in `probe`, or an open FrameReader, which stays open; arguments of a reader then are an error. All
            data of an object that cannot seek are kept, within ``max_spool_bytes`` of `set_limits`.
        device: "auto", "auto:N", "cpu", "cuda" or "cuda:N". "auto" is the GPU if it decodes the video exactly, else
            the CPU. TRICODEC_DEVICE replaces "auto".
        stream_index: number of the video stream; -1 is the best one.
        num_workers: as in `FrameReader`.
        ignore_edit_list: include the frames that the container's edit list removes.
        out: as in `FrameReader.batch`.
        context: as in `FrameReader`.
        stream, pinned: as in `Transform`.
        **options: options that select frames, as in `FrameReader.select` (start, stride, count, indices, times,
            fps, num_frames, ...), and options of `Transform` (crop, size, color, dtype, layout, mean, std, ...).

    Returns:
        The frames and their times, by default uint8 RGB, [F, H, W, 3]. A given `out` is ``frames``. For a damaged
        stream the result has all frames that could be decoded, and ``num_damaged_packets`` is not 0.

    Raises:
        ValueError: an option is not accepted or contradicts another one, or `out` does not fit.
        TypeError: `out` has another dtype or is no array.
        IndexError: the video does not have so many frames, or a time has no frame; the text names the nearest one.
        CorruptDataError: the video has no frames at all, and `count` is not 0.
        Error: the other errors of `FrameReader`.

    Thread safety: safe.
    """
    # First, to find wrong options before the source is opened.
    selection, transform = request_of("decode_video", options, _OF_READER)
    if isinstance(source, FrameReader):
        if (device, stream_index, num_workers, ignore_edit_list, context, stream) != ("auto", -1, 0, False, None, None):
            raise TypeError("an open FrameReader is given with options of a reader; leave them out")
        return read_video(source, transform, selection, out, pinned=pinned)
    if elsewhere is not None and out is None and context is None and stream is None and not pinned:
        return elsewhere(source, device=device, stream_index=stream_index, ignore_edit_list=ignore_edit_list, **options)
    with FrameReader(
        source, device=device, stream_index=stream_index, num_workers=num_workers, ignore_edit_list=ignore_edit_list,
        context=context, stream=stream,
    ) as reader:  # fmt: skip
        return read_video(reader, transform, selection, out, pinned=pinned)


def read_video(
    reader: FrameReader[Any],
    transform: Transform,
    selection: Mapping[str, Any],
    out: Any = None,
    *,
    pinned: bool = False,
) -> DecodedVideo[Any]:
    """What `decode_video` does with an open reader."""
    frames, indices, asked = reader._read(transform, out=out, pinned=pinned, **selection)
    return DecodedVideo(frames, reader.pts_seconds[indices], reader.num_damaged_packets, indices, asked)
