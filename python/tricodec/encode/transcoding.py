# SPDX-License-Identifier: Apache-2.0
"""transcode(): from one file to another."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tricodec._tricodec import transcode as transcode_file
from tricodec.encode.video import encoder_keywords

if TYPE_CHECKING:
    from tricodec._option_types import Device
    from tricodec._tricodec import Source, Target


@dataclasses.dataclass(frozen=True, slots=True)
class TranscodeResult:
    """The result of `transcode`.

    Attributes:
        num_frames: number of frames in the output.
        num_audio_packets: number of audio packets in the output.
        num_damaged_packets: number of video packets in the range that could not be decoded completely; each costs its
            frames. A codec with several threads may count a packet twice. All packets that are missing at the end of a
            source that was cut off count as one.
        size_bytes: size of all packets of the output in bytes.
        seconds: duration of the video in the output, to the end of its last frame.
        decoder: the engine that decoded: "libavcodec h264".
        encoder: the engine that encoded: "libavcodec libx264".
        cancelled: whether ``progress`` cancelled the call; the output is then a complete file with the frames so far.
        left_out: streams of the source that the output does not have: "subtitle stream 2 (mov_text)"; "" if it has all.
        data: the file, if the target was None.
    """

    num_frames: int
    num_audio_packets: int
    num_damaged_packets: int
    size_bytes: int
    seconds: float
    decoder: str
    encoder: str
    cancelled: bool
    left_out: str
    data: bytes | None = dataclasses.field(repr=False)


def transcode(
    source: Source,
    target: Target,
    *,
    codec: str = "h264",
    device: Device = "auto",
    stream_index: int = -1,
    crop: Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    deinterlace: bool = False,
    start: float | None = None,
    end: float | None = None,
    audio: bool = True,
    audio_codec: str | None = None,
    audio_rate: int | None = None,
    audio_channels: int | None = None,
    audio_bit_rate: int = 0,
    pixel_format: str | None = None,
    frame_rate: float | Fraction | tuple[int, int] | None = None,
    bit_rate: int = 0,
    crf: float | None = None,
    gop_size: int = -1,
    num_b_frames: int = -1,
    preset: str | None = None,
    num_threads: int = 0,
    num_workers: int = 1,
    options: Mapping[str, Any] | None = None,
    format: str = "",
    fast_start: bool = False,
    fragmented: bool = False,
    metadata: Mapping[str, str] | None = None,
    progress: Callable[[int, float, float], object] | None = None,
) -> TranscodeResult:
    """Decode a video, crop and resize it, encode it and write it to a container. The sound is copied, or encoded again.

        >>> tricodec.transcode(tricodec.sample_video(), "small.mp4", start=1, end=2, size=(90, 160)).num_frames
        25

    Every frame of the range is kept with its time, at any frame rate, and the output begins at time 0. Times that jump,
    as in joined recordings, continue without a gap. Rotation, colors, pixel shape, metadata and chapters are kept.
    Where the container has no field for the rotation, the pictures are turned upright. Transparency is dropped.

    Args:
        source: as in `probe`.
        target: a path, an object with ``write(bytes)``, or None for a file in ``data`` of the result. A path gets its
            file, which may replace an old one, when the new file is complete; an exception keeps the old file. The
            target is another file than the source.
        codec, device, bit_rate, crf, gop_size, num_b_frames, preset, options, fast_start, fragmented: as in
            `encode_video`. The codec "copy" copies the packets without decoding, from the last key frame at
            or before ``start``; the log says where that is.
        stream_index: number of the video stream; -1 is the stream that `FrameReader` reads.
        crop: (top, left, height, width) in pixels of the upright picture; None is the whole picture.
        size: (height, width) of the upright output in pixels; None is the size of the crop, where an encoder that
            needs even sizes loses an odd last row or column, which one warning says.
        deinterlace: makes progressive pictures of interlaced ones, as many, by libavfilter's bwdif. Otherwise
            interlaced video stays interlaced and is marked so, where the encoder can.
        start: time in seconds; the first frame that begins there or later has time 0 in the output. It is exact,
            wherever key frames are. A negative time is accepted where the video begins before 0.
        end: time in seconds; frames that begin there or later are left out.
        audio: whether the output has the audio streams of the source.
        audio_codec: None copies the packets of the audio. "aac", "opus", "mp3", "flac", "pcm_s16le", ... or an encoder
            of FFmpeg encodes it again. Then it begins and ends exactly at ``start`` and ``end``; a copy does with whole
            packets.
        audio_rate: samples per second of the encoded sound; None is the source's rate, or the nearest that the encoder
            supports.
        audio_channels: channels of the encoded sound: 1 is mono, 2 stereo; None is the number of the source.
        audio_bit_rate: bits per second of the encoded sound; 0 is the encoder's own choice.
        pixel_format: layout of the encoded pictures; None is the layout of the source if the encoder supports it, else
            the nearest one.
        frame_rate: the frame rate that the stream states; None is that of the source. It changes no time stamps.
        num_threads: threads of each codec; 0 is the codec's own choice.
        num_workers: number of parts, cut at key frames, that are transcoded at the same time and joined without another
            encode. Each part has a separate rate control.
        format, metadata: as in `Muxer`.
        progress: a function of (frames, seconds, expected seconds or 0) of the output; False cancels the call.

    Raises:
        ValueError: an option is not accepted, no frame begins in the range, or the target is the source.
        UnsupportedError: there is no encoder for the codec, or the container cannot hold the codec.
        CorruptDataError: the source is not a supported media file, or none of its frames can be decoded.

    Thread safety: safe.
    """
    _refuse_open_source(source, target)
    encoder = encoder_keywords(
        codec=codec, device=device, bit_rate=bit_rate, gop_size=gop_size, num_b_frames=num_b_frames,
        num_threads=num_threads, pixel_format=pixel_format, frame_rate=frame_rate, crf=crf, preset=preset,
        options=options,
    )  # fmt: skip
    muxer = {"format": format, "fast_start": fast_start, "fragmented": fragmented, "metadata": dict(metadata or {})}
    encoding = None
    if audio_codec is not None:
        rate, channels = audio_rate or 0, audio_channels or 0
        encoding = {"codec": audio_codec, "rate": rate, "channels": channels, "bit_rate": audio_bit_rate}
    elif audio_rate is not None or audio_channels is not None or audio_bit_rate:
        message = "audio_rate, audio_channels and audio_bit_rate need audio_codec: without it the sound is copied"
        raise ValueError(message)
    facts = transcode_file(
        source, target, encoder, muxer, crop, size, start, end, audio, num_workers, progress, encoding, deinterlace,
        stream_index,
    )  # fmt: skip
    return TranscodeResult(**facts)


def _refuse_open_source(source: Any, target: Any) -> None:
    """Raises ValueError for an object that would write to the source file during the read."""
    from_ = _file_status(source)
    if isinstance(target, (str, os.PathLike)) or from_ is None or not stat.S_ISREG(from_.st_mode):
        return
    to = _file_status(target)
    if to is not None and os.path.samestat(from_, to):
        message = f"the target {target!r} overwrites the source while it is read; pass its path, or another file"
        raise ValueError(message)


def _file_status(file: Any) -> os.stat_result | None:
    """The status of a path or of an open file; None for anything else."""
    try:
        return Path(file).stat() if isinstance(file, (str, os.PathLike)) else os.fstat(file.fileno())
    except (AttributeError, OSError, ValueError):  # no fileno(), or that of io.BytesIO
        return None
