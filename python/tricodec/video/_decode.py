# SPDX-License-Identifier: Apache-2.0
"""decode_video(), the request of all front ends: from a video to an array of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

from tricodec._keywords import transform_of
from tricodec._tricodec import FrameReader, check_selection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    from tricodec._tricodec import Source, Transform, TransformOptions
    from tricodec._words import Device, Policy, Rule


_OF_READER = (
    "device", "stream_index", "num_workers", "ignore_edit_list", "out", "context", "stream", "pinned",
)  # fmt: skip


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
    indices: npt.NDArray[np.int64] | None = None
    """Number of each frame in the video, int64 [F]. A server's client leaves it out."""
    asked_seconds: npt.NDArray[np.float64] | None = None
    """The time that was asked for, of each frame, float64 [F]: of ``times`` and of ``fps`` each instant, else
    ``pts_seconds``. A server's client leaves it out."""

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.frames)

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.frames.shape))
        number = self.num_damaged_packets
        damage = f", {number} damaged packet{'s' * (number > 1)}" if number else ""
        return f"<tricodec.DecodedVideo {self.frames.dtype} [{shape}]{damage}>"

    def _repr_png_(self) -> bytes | None:
        """The frames, or 16 across them; None, which shows repr(), if they are no pictures of uint8 and HWC."""
        from tricodec.show.pictures import png_of_batch

        return png_of_batch(self.frames)


def decode_video(
    source: Source | FrameReader,
    *,
    start: int = 0,
    stride: int = 1,
    count: int = -1,
    indices: Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]] | None = None,
    times: Sequence[float] | npt.NDArray[np.floating[Any]] | None = None,
    tolerance_s: float | None = None,
    policy: Policy | None = None,
    fps: float | Fraction | None = None,
    num_frames: int | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    sampling: Rule | None = None,
    min_frames: int | None = None,
    max_frames: int | None = None,
    device: Device = "auto",
    stream_index: int = -1,
    num_workers: int = 0,
    ignore_edit_list: bool = False,
    out: Any = None,
    context: Any = None,
    stream: Any = None,
    pinned: bool = False,
    **transform_options: Unpack[TransformOptions],
) -> DecodedVideo:
    """Decode frames of a video into one array.

    The DALI operator and the Triton model take the same keywords and return the same bytes.

    Args:
        source: as `probe` takes it; or an open FrameReader, which stays open and has the options of a reader itself.
            All data of an object that cannot seek are kept, within ``max_spool_bytes`` of
            `set_limits`.
        start: number of the first frame in presentation order; a negative number counts from the end.
        stride: distance from one frame to the next, at least 1: every stride-th frame.
        count: number of frames; -1 is all to the end.
        indices: frame numbers instead, in any order, repeats allowed. Negative ones count from the end.
        times: times in seconds instead, in any order, repeats allowed. A float32 of a frame's time means that frame.
        tolerance_s: greatest distance in seconds of a time from the time of its frame. None takes any time at which
            the video shows a frame.
        policy: which frame a time means. "nearest" (of two the earlier) is the default of `times`. "on_screen", the
            last frame that begins at or before the time, is the default of `fps`. "exact" takes only times of frames.
        fps: frames a second: a frame for each instant begin + k / fps of the part.
        num_frames: so many frames evenly from the first to the last of the part, rounded; repeats a frame if there
            are fewer.
        start_s: begin of the part in seconds, instead of `start`: the frame on screen there is the first.
        end_s: end of the part in seconds, instead of `count`: frames that begin at or after it are left out.
        sampling: a rule that chooses frames: "uniform", "uniform_floor", "stride", "centers", "key_frames" or
            "around". The other words are its parameters.
        min_frames, max_frames: bounds for `fps`. If there would be fewer or more frames, so many are taken evenly.
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
        ValueError: an option is not accepted, words contradict each other, or `out` has another shape, is read-only
            or is on another GPU.
        TypeError: `out` has another dtype or is no array.
        IndexError: the video does not have so many frames, or a time has no frame; the text names the nearest one.
        CorruptDataError: the video has no frames at all, and `count` is not 0.
        Error: the other errors of `FrameReader`.

    Thread safety: safe.
    """
    selection = {
        "start": start, "stride": stride, "count": count, "indices": indices, "times": times,
        "tolerance_s": tolerance_s, "policy": policy, "fps": fps, "num_frames": num_frames, "start_s": start_s,
        "end_s": end_s, "sampling": sampling, "min_frames": min_frames, "max_frames": max_frames,
    }  # fmt: skip
    # First, to find wrong options before the source is opened.
    transform = transform_of("decode_video", transform_options, [*selection, *_OF_READER])  # type: ignore[arg-type]
    check_selection(**selection)
    if isinstance(source, FrameReader):
        if (device, stream_index, num_workers, ignore_edit_list, context, stream) != ("auto", -1, 0, False, None, None):
            msg = "an open FrameReader is given with options of a reader; leave them out"
            raise TypeError(msg)
        return read_video(source, transform, selection, out, pinned=pinned)
    with FrameReader(
        source, device=device, stream_index=stream_index, num_workers=num_workers, ignore_edit_list=ignore_edit_list,
        context=context, stream=stream,
    ) as reader:  # fmt: skip
        return read_video(reader, transform, selection, out, pinned=pinned)


def read_video(
    reader: FrameReader,
    transform: Transform,
    selection: Mapping[str, Any],
    out: Any = None,
    *,
    pinned: bool = False,
) -> DecodedVideo:
    """What `decode_video` does with an open reader.

    Args:
        reader: of the video.
        transform: what is done to the frames.
        selection: the words of `decode_video` that select frames; None is a word left out.
        out: as `decode_video` takes it.
        pinned: as `decode_video` takes it.
    """
    frames, indices, asked = reader._read(transform, out=out, pinned=pinned, **selection)
    return DecodedVideo(frames, reader.pts_seconds[indices], reader.num_damaged_packets, indices, asked)
