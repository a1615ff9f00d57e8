# SPDX-License-Identifier: Apache-2.0
"""What a container says of its streams, and what a scan of the packets adds."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

from tricodec.video import ColorDescription, MediaInfo, StreamInfo

# Where FFmpeg's names differ from the project's.
_MATRICES = {"rgb": "gbr"}
_TRANSFERS = {"gamma22": "bt470m", "gamma28": "bt470bg", "log100": "log100", "log316": "log316"}


def number(value: float | None) -> float | None:
    """Whole numbers are int, as programs see them that read JSON."""
    return int(value) if value is not None and float(value).is_integer() else value


def _lines(metadata: Any) -> str:
    """One line a field."""
    lines = [f"  {field.name}: {getattr(metadata, field.name)}\n" for field in dataclasses.fields(metadata)]
    return f"{type(metadata).__name__}:\n" + "".join(lines)


@dataclasses.dataclass(repr=False)
class StreamMetadata:
    """One stream, as the container's header describes it.

    Attributes:
        duration_seconds_from_header: None if the header does not say.
        begin_stream_seconds_from_header: the stream's start time, or None.
        bit_rate: bit/s, or None.
        codec: FFmpeg's name, or None.
        stream_index: among all streams of the file.
        media_type: "video", "audio", "subtitle", "data", "attachment" or "unknown".
    """

    duration_seconds_from_header: float | None
    begin_stream_seconds_from_header: float | None
    bit_rate: float | None
    codec: str | None
    stream_index: int
    media_type: str

    def __repr__(self) -> str:
        return _lines(self)


@dataclasses.dataclass(repr=False)
class VideoStreamHeaderMetadata(StreamMetadata):
    """A video stream, as the container's header describes it.

    Attributes:
        width: pixels, after rotation.
        height: pixels, after rotation.
        num_frames_from_header: None if the header does not say.
        average_fps_from_header: the lowest rate that represents every time stamp (FFmpeg's r_frame_rate).
        pixel_aspect_ratio: width of a pixel to its height.
        rotation: degrees, counter-clockwise, that decoding turns the pictures by; None without a display matrix.
        color_primaries: FFmpeg's name; None if unspecified.
        color_space: FFmpeg's name of the matrix; None if unspecified.
        color_transfer_characteristic: FFmpeg's name; None if unspecified.
        pixel_format: FFmpeg's name.
    """

    width: int | None
    height: int | None
    num_frames_from_header: int | None
    average_fps_from_header: float | None
    pixel_aspect_ratio: Fraction | None
    rotation: float | None
    color_primaries: str | None
    color_space: str | None
    color_transfer_characteristic: str | None
    pixel_format: str | None


@dataclasses.dataclass(repr=False)
class VideoStreamMetadata(VideoStreamHeaderMetadata):
    """A video stream. The fields ``*_from_content`` are None unless the packets were scanned.

    Attributes:
        begin_stream_seconds_from_content: time of the first frame.
        end_stream_seconds_from_content: end of the last frame.
        num_frames_from_content: frames of the stream.
        duration_seconds: from start to end; without a scan the header's, else frames by rate, else the container's.
        begin_stream_seconds: of the content; without a scan the header's, else 0.
        end_stream_seconds: of the content; without a scan begin plus duration.
        num_frames: of the content; without a scan the header's, else duration times rate.
        average_fps: frames by duration of the content; without a scan the header's.
    """

    begin_stream_seconds_from_content: float | None
    end_stream_seconds_from_content: float | None
    num_frames_from_content: int | None
    duration_seconds: float | None
    begin_stream_seconds: float | None
    end_stream_seconds: float | None
    num_frames: int | None
    average_fps: float | None


@dataclasses.dataclass(repr=False)
class AudioStreamHeaderMetadata(StreamMetadata):
    """An audio stream, as the container's header describes it.

    Attributes:
        sample_rate: in Hz.
        num_channels: channels of the source.
        sample_format: FFmpeg's name, such as "fltp".
    """

    sample_rate: int | None
    num_channels: int | None
    sample_format: str | None


@dataclasses.dataclass(repr=False)
class AudioStreamMetadata(AudioStreamHeaderMetadata):
    """An audio stream.

    Attributes:
        duration_seconds: the header's, else the container's.
        begin_stream_seconds: the header's, else 0.
    """

    duration_seconds: float | None
    begin_stream_seconds: float | None


@dataclasses.dataclass(repr=False)
class DemuxerMetadata:
    """A container, as its header describes it.

    Attributes:
        duration_seconds_from_header: None if the header does not say.
        bit_rate_from_header: of all streams together, in bit/s, or None.
        best_video_stream_index: the stream that FFmpeg picks, or None.
        best_audio_stream_index: the same for sound.
    """

    duration_seconds_from_header: float | None
    bit_rate_from_header: float | None
    best_video_stream_index: int | None
    best_audio_stream_index: int | None

    def __repr__(self) -> str:
        return _lines(self)


@dataclasses.dataclass(repr=False)
class ContainerMetadata(DemuxerMetadata):
    """A container and its streams, as its header describes them.

    Attributes:
        streams: one StreamMetadata a stream, of the class for its kind, in the order of the file.
    """

    streams: list[StreamMetadata]


def container_fields(info: MediaInfo) -> dict[str, Any]:
    """The fields of a DemuxerMetadata."""
    return {
        "duration_seconds_from_header": number(info.duration_seconds) if info.duration_seconds > 0 else None,
        "bit_rate_from_header": info.bit_rate if info.bit_rate > 0 else None,
        "best_video_stream_index": None if info.video is None else info.video.index,
        "best_audio_stream_index": None if info.audio is None else info.audio.index,
    }


def start_of(stream: StreamInfo) -> float | None:
    """The header's start time in seconds."""
    return _seconds(stream, stream.start_pts)


def _seconds(stream: StreamInfo, time: int | None) -> float | None:
    if time is None or stream.time_base is None:
        return None
    return number(time * stream.time_base.numerator / stream.time_base.denominator)


def _header(stream: StreamInfo) -> dict[str, Any]:
    return {
        "duration_seconds_from_header": _seconds(stream, stream.duration),
        "begin_stream_seconds_from_header": start_of(stream),
        "bit_rate": number(stream.bit_rate),
        "codec": stream.codec_name,
        "stream_index": stream.index,
        "media_type": "unknown" if stream.kind == "other" else stream.kind,
    }


def _named(name: str, others: dict[str, str]) -> str | None:
    return None if name in ("unspecified", "reserved") else others.get(name, name)


def color_names(color: ColorDescription) -> tuple[str | None, str | None, str | None]:
    """FFmpeg's names of matrix, primaries and transfer; None if unspecified."""
    return _named(color.matrix, _MATRICES), _named(color.primaries, {}), _named(color.transfer, _TRANSFERS)


def rotation_of(stream: StreamInfo) -> float | None:
    """Counter-clockwise, from -90 to 180; None without a display matrix."""
    if stream.rotation == 0:
        return None
    return {90: -90.0, 180: 180.0, 270: 90.0}[stream.rotation]


def header_of(stream: StreamInfo) -> StreamMetadata:
    """The header's part of a stream's description, of the class for its kind."""
    header = _header(stream)
    if stream.kind == "audio":
        return AudioStreamHeaderMetadata(
            **header, sample_rate=stream.sample_rate, num_channels=stream.num_channels,
            sample_format=stream.sample_format or None,
        )  # fmt: skip
    if stream.kind != "video":
        return StreamMetadata(**header)
    turned = stream.rotation in (90, 270)
    rate = stream.real_frame_rate
    matrix, primaries, transfer = color_names(stream.color)
    return VideoStreamHeaderMetadata(
        **header,
        width=stream.height if turned else stream.width,
        height=stream.width if turned else stream.height,
        num_frames_from_header=stream.num_frames or None,
        average_fps_from_header=None if rate is None else number(float(rate)),
        pixel_aspect_ratio=stream.sample_aspect_ratio or Fraction(0, 1),
        rotation=rotation_of(stream),
        color_primaries=primaries,
        color_space=matrix,
        color_transfer_characteristic=transfer,
        pixel_format=stream.pixel_format_name or None,
    )


def _fields(header: StreamMetadata) -> dict[str, Any]:
    return {field.name: getattr(header, field.name) for field in dataclasses.fields(header)}


def described_by_header(info: MediaInfo, stream: StreamInfo) -> VideoStreamMetadata:
    """A video stream without a scan."""
    header = header_of(stream)
    assert isinstance(header, VideoStreamHeaderMetadata)
    duration = header.duration_seconds_from_header
    rate = header.average_fps_from_header
    count = header.num_frames_from_header
    if duration is None and count is not None and rate:
        duration = count / rate
    if duration is None and info.duration_seconds > 0:
        duration = info.duration_seconds
    begin = header.begin_stream_seconds_from_header or 0
    if count is None and duration is not None and rate is not None:
        count = int(rate * duration)
    return VideoStreamMetadata(
        **_fields(header),
        begin_stream_seconds_from_content=None,
        end_stream_seconds_from_content=None,
        num_frames_from_content=None,
        duration_seconds=number(duration),
        begin_stream_seconds=begin,
        end_stream_seconds=None if duration is None else number(begin + duration),
        num_frames=count,
        average_fps=rate,
    )


def described_sound(info: MediaInfo, stream: StreamInfo) -> AudioStreamMetadata:
    """An audio stream."""
    header = header_of(stream)
    duration = header.duration_seconds_from_header
    if duration is None and info.duration_seconds > 0:
        duration = number(info.duration_seconds)
    return AudioStreamMetadata(
        **_fields(header),
        duration_seconds=duration,
        begin_stream_seconds=header.begin_stream_seconds_from_header or 0,
    )


def described_by_content(stream: StreamInfo, begin: float, end: float, num_frames: int) -> VideoStreamMetadata:
    """A video stream after a scan."""
    header = header_of(stream)
    assert isinstance(header, VideoStreamHeaderMetadata)
    duration = end - begin
    return VideoStreamMetadata(
        **_fields(header),
        begin_stream_seconds_from_content=number(begin),
        end_stream_seconds_from_content=number(end),
        num_frames_from_content=num_frames,
        duration_seconds=number(duration),
        begin_stream_seconds=number(begin),
        end_stream_seconds=number(end),
        num_frames=num_frames,
        average_fps=number(num_frames / duration) if duration > 0 else header.average_fps_from_header,
    )


for _class in (
    StreamMetadata, VideoStreamHeaderMetadata, VideoStreamMetadata, AudioStreamHeaderMetadata, AudioStreamMetadata,
    DemuxerMetadata, ContainerMetadata,
):  # fmt: skip
    _class.__module__ = "tricodec_compat.torchcodec.decoders"
