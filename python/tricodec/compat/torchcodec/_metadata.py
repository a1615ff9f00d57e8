# SPDX-License-Identifier: Apache-2.0
"""What a container says of its streams, and what a scan of the packets adds."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

from tricodec._tricodec import MediaInfo, StreamInfo

# Where FFmpeg's names differ from the project's.
_MATRICES = {"rgb": "gbr"}
_TRANSFERS = {"gamma22": "bt470m", "gamma28": "bt470bg", "log100": "log100", "log316": "log316"}


def number(value: float | None) -> float | None:
    """Whole numbers are int, as programs see them that read JSON."""
    return int(value) if value is not None and float(value).is_integer() else value


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
        lines = [f"  {field.name}: {getattr(self, field.name)}\n" for field in dataclasses.fields(self)]
        return f"{type(self).__name__}:\n" + "".join(lines)


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
        duration_seconds: from begin to end; without a scan the header's, else frames by rate, else the container's.
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


def _rotation(stream: StreamInfo) -> float | None:
    """Counter-clockwise, from -90 to 180."""
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
    return VideoStreamHeaderMetadata(
        **header,
        width=stream.height if turned else stream.width,
        height=stream.width if turned else stream.height,
        num_frames_from_header=stream.num_frames or None,
        average_fps_from_header=None if rate is None else number(float(rate)),
        pixel_aspect_ratio=stream.sample_aspect_ratio or Fraction(0, 1),
        rotation=_rotation(stream),
        color_primaries=_named(stream.color.primaries, {}),
        color_space=_named(stream.color.matrix, _MATRICES),
        color_transfer_characteristic=_named(stream.color.transfer, _TRANSFERS),
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
):  # fmt: skip
    _class.__module__ = "tricodec.compat.torchcodec.decoders"
