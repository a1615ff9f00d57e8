# SPDX-License-Identifier: Apache-2.0
"""encode_video(): an array of frames in, a video file out; the way back of decode_video()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tricodec import _tricodec
from tricodec._encoder_words import encoder_words

if TYPE_CHECKING:
    import numpy.typing as npt

    from tricodec._tricodec import FrameRate


def encode_video(
    frames: Any,
    pts_seconds: Sequence[float] | npt.NDArray[Any] | None = None,
    *,
    codec: str = "h264",
    container: str = "mp4",
    device: str = "auto",
    color: str = "rgb",
    layout: str = "HWC",
    format: str | None = None,
    pixel_format: str | None = None,
    matrix: str | None = None,
    range: str | None = None,
    frame_rate: FrameRate | None = None,
    bit_rate: int = 0,
    crf: float | None = None,
    gop_size: int = -1,
    num_b_frames: int = -1,
    preset: str | None = None,
    num_threads: int = 1,
    rotation: int = 0,
    options: Mapping[str, Any] | None = None,
    fast_start: bool = False,
    fragmented: bool = False,
) -> bytes:
    """Encode an array of frames to a video file in memory.

    The DALI operator and the Triton model take the same words and return the same bytes: those that `Encoder` and
    `Muxer` make of the frames.

    Args:
        frames: an array in host memory or on a GPU (numpy, torch, anything with DLPack or the CUDA array interface) as
            `decode_video` gives it: uint8, [F, H, W, C] or what ``layout`` says, or raw planes. Without the axis of
            frames it is a video of one.
        pts_seconds: the frames' times, [F], increasing; the first becomes 0. None: they follow one another by
            ``frame_rate``.
        codec: "h264", "hevc" or "av1", for which the engine is chosen, or one of ``encoder_names()``.
        container: "mp4", "mov", "mkv", "webm", "ts", "ivf", ..., or "raw", the bare stream.
        device: "auto", "cpu", "cuda" or "cuda:N".
        color: what the channels are: "rgb", "bgr", "gray" or "yuv".
        layout: "HWC", "CHW", "CHW2" or "HWC8", as `Transform` has them.
        format: the frames are raw planes, one after another, in this layout instead: "yuv420p", "nv12", "p010le", ...,
            [F, H * 3 / 2, W] for 4:2:0; uint16 for more than 8 bits.
        pixel_format: layout of the pictures as they are encoded; None is "yuv420p", or, for raw planes, the nearest to
            theirs that the encoder takes.
        matrix: color matrix that RGB is converted by and the stream tells, "bt601", "bt709", "bt2020", ...; None is
            BT.601, untold.
        range: the same of the range: "limited" or "full".
        frame_rate: frames per second; None is that of the times, or 30.
        bit_rate: bits per second; 0 is the encoder's own choice, mostly a constant quality.
        crf: constant quality, the encoder's option "crf" (NVENC's "cq"): smaller is better and larger.
        gop_size: most frames from a key frame to the next; -1 is the encoder's own choice.
        num_b_frames: most B frames in a row; -1 is the encoder's own choice.
        preset: the encoder's option "preset".
        num_threads: of the codec. With 1 the bytes do not depend on the machine, but for libx264 with mbtree
            (docs/encoding.md); 0 is the codec's own choice, and faster for a single video.
        rotation: for the container: degrees clockwise, 0, 90, 180 or 270.
        options: more options of the encoder, by FFmpeg's names: {"tune": "film"}.
        fast_start: the file's index in front.
        fragmented: an mp4 or mov in fragments.

    Returns:
        The file.

    Raises:
        ValueError: for shapes, sizes, times and options that are not accepted, and for no frames.
        TypeError: for other element types.
        UnsupportedError: if nothing here encodes the codec, or the container does not hold it.

    Thread safety: safe.
    """
    described = {name: word for name, word in (("matrix", matrix), ("range", range)) if word is not None}
    encoder = encoder_words(
        codec=codec, device=device, bit_rate=bit_rate, gop_size=gop_size, num_b_frames=num_b_frames,
        num_threads=num_threads, rotation=rotation, color=described or None, pixel_format=pixel_format,
        frame_rate=frame_rate, crf=crf, preset=preset, options=options,
    )  # fmt: skip
    times = None if pts_seconds is None else [float(time) for time in pts_seconds]
    return _tricodec.encode_video(frames, times, color, layout, format, encoder, container, fast_start, fragmented)
