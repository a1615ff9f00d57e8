# SPDX-License-Identifier: Apache-2.0
"""encode_video(): from an array of frames to a video file; the reverse of decode_video()."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tricodec._tricodec import encode_video as write_video

if TYPE_CHECKING:
    import numpy.typing as npt

    from tricodec._option_types import Color, Device, Layout, Matrix, Range
    from tricodec._tricodec import Event, FrameRate


def encode_video(
    frames: Any,
    pts_seconds: Sequence[float] | npt.NDArray[Any] | None = None,
    *,
    codec: str = "h264",
    container: str = "mp4",
    device: Device = "auto",
    color: Color = "rgb",
    layout: Layout = "HWC",
    format: str | None = None,
    pixel_format: str | None = None,
    matrix: Matrix | None = None,
    range: Range | None = None,
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
    audio: Any = None,
    audio_rate: int | None = None,
    audio_codec: str | None = None,
    audio_bit_rate: int = 0,
    input_consumed: Event | None = None,
) -> bytes:
    """Encode an array of frames, and the sound that goes with them, to a video file in memory.

        >>> file = tricodec.encode_video(np.zeros((50, 48, 64, 3), np.uint8), codec="h264", frame_rate=25, crf=20)
        >>> tricodec.probe(file).duration_seconds
        2.0

    Args:
        frames: an array in host memory or on a GPU (numpy, torch, any object with DLPack or the CUDA array interface)
            as `decode_video` returns it: uint8, [F, H, W, C] or the shape of ``layout``, or raw planes. An array
            without the axis of frames is a video of one frame.
        pts_seconds: times of the frames in seconds, [F], increasing; the first becomes 0. None: the frames follow
            one another by ``frame_rate``.
        codec: "h264", "hevc" or "av1" (the engine is chosen), or one of ``encoder_names()``.
        container: "mp4", "mov", "mkv", "webm", "ts", "ivf", ..., or "raw" for the bare stream.
        device: "auto", "cpu", "cuda" or "cuda:N", the device that encodes.
        color: meaning of the channels: "rgb", "bgr", "gray" or "yuv".
        layout: "HWC" or "CHW".
        format: layout of raw planes, if the frames are raw planes one after another: "yuv420p", "nv12", "p010le", ...;
            [F, H * 3 / 2, W] for 4:2:0, uint16 for more than 8 bits. None: the frames are pictures of channels.
        pixel_format: layout of the encoded pictures; None is "yuv420p", for raw planes and for lossless codecs the
            nearest layout to the frames' own that the encoder supports.
        matrix: color matrix for the conversion of RGB, which the stream then states: "bt601", "bt709", "bt2020", ...;
            None is BT.601, which the stream does not state.
        range: color range of the conversion, "limited" or "full"; None is limited, which the stream does not state.
        frame_rate: frames per second; None is the rate of the times, or 30.
        bit_rate: bits per second; 0 is the encoder's own choice, in most cases a constant quality.
        crf: constant quality, the encoder's option "crf" (NVENC's "cq"): a smaller value gives a better picture and a
            larger file. None is the encoder's default.
        gop_size: the greatest number of frames from a key frame to the next; -1 is the encoder's own choice.
        num_b_frames: the greatest number of B frames in a row; -1 is the encoder's own choice.
        preset: the encoder's option "preset"; None is its default.
        num_threads: threads of the codec. With 1 the bytes do not depend on the machine, except for libx264 with mbtree
            (docs/reference/encoding.md). 0 is the codec's own choice, which is faster for a single video.
        rotation: rotation that the container states, in degrees clockwise: 0, 90, 180 or 270.
        options: further options of the encoder, by FFmpeg's names: {"tune": "film"}.
        fast_start: put the index of the file before the samples.
        fragmented: write an mp4 or mov in fragments, strictly in order.
        audio: an array of sound in host memory: [channels, samples] or [samples], float32 (-1 to 1) or int16. Its first
            sample is heard with the first frame. None is a video without sound.
        audio_rate: samples per second of ``audio``. It is resampled if the codec does not have this rate.
        audio_codec: "aac", "opus", "mp3", "flac", "vorbis", "pcm_s16le", ... or an encoder of FFmpeg; None is the
            container's own codec.
        audio_bit_rate: bits per second of the sound; 0 is the encoder's own choice.
        input_consumed: as in `Transform`, for ``frames`` on a GPU; the call records the event when it returns.

    Returns:
        The file.

    Raises:
        ValueError: a shape, size, time or option is not accepted, there is no frame, or ``input_consumed`` is an event
            and the frames are on the CPU.
        TypeError: the type of the elements is not accepted.
        UnsupportedError: there is no encoder for the codec, or the container cannot hold the codec.

    Thread safety: safe.
    """
    described = {name: value for name, value in (("matrix", matrix), ("range", range)) if value is not None}
    encoder = encoder_keywords(
        codec=codec, device=device, bit_rate=bit_rate, gop_size=gop_size, num_b_frames=num_b_frames,
        num_threads=num_threads, rotation=rotation, color=described or None, pixel_format=pixel_format,
        frame_rate=frame_rate, crf=crf, preset=preset, options=options,
    )  # fmt: skip
    if isinstance(pts_seconds, str | os.PathLike):
        raise TypeError(
            f"pts_seconds is {pts_seconds!r}; encode_video returns the bytes of the file: write them with "
            "pathlib.Path(...).write_bytes()"
        )
    times = None if pts_seconds is None else [float(time) for time in pts_seconds]
    return write_video(
        frames, times, color, layout, format, encoder, container, fast_start, fragmented, audio, audio_rate,
        {"codec": audio_codec or "", "bit_rate": audio_bit_rate}, input_consumed,
    )  # fmt: skip


def encoder_keywords(
    *, options: Mapping[str, Any] | None, preset: str | None, pixel_format: str | None, frame_rate: Any, **others: Any
) -> dict[str, Any]:
    """The encoder's keywords as the extension takes them; those that are None keep the encoder's defaults."""
    named = {**(options or {}), **({} if preset is None else {"preset": preset})}
    chosen = {"format": pixel_format, "frame_rate": frame_rate, "options": named, **others}
    return {name: value for name, value in chosen.items() if value is not None}
