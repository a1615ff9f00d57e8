# SPDX-License-Identifier: Apache-2.0
"""What a reader says of its sources and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class SourceStream:
    """A stream of the source, as the container describes it."""

    media_type: str
    """``"audio"``, ``"video"``, ``"subtitle"``, ``"data"``, ``"attachment"`` or ``"unknown"``."""
    codec: str
    """FFmpeg's short name."""
    codec_long_name: str
    format: str | None
    """Pixel or sample format; None where the stream is neither audio nor video."""
    bit_rate: int | None
    """Bits per second, 0 where the container does not say."""
    num_frames: int | None
    """As the container states it; None where it does not."""
    bits_per_sample: int | None
    """Valid bits of a sample, 0 where the codec does not say."""
    metadata: dict[str, str]
    """Tags of the stream."""


@dataclass
class SourceAudioStream(SourceStream):
    """An audio stream of the source."""

    sample_rate: float
    """Samples per second."""
    num_channels: int


@dataclass
class SourceVideoStream(SourceStream):
    """A video stream of the source."""

    width: int
    height: int
    frame_rate: float
    """Frames per second: the lowest rate that represents every time stamp."""


@dataclass
class OutputStream:
    """An output of a reader."""

    source_index: int
    """Which source stream it comes from."""
    filter_description: str
    """The filters, as FFmpeg writes them."""
    media_type: str
    """``"audio"`` or ``"video"``."""
    format: str
    """Pixel or sample format of the chunks' frames."""


@dataclass
class OutputAudioStream(OutputStream):
    """An output of audio."""

    sample_rate: float
    """Samples per second."""
    num_channels: int


@dataclass
class OutputVideoStream(OutputStream):
    """An output of video."""

    width: int
    height: int
    frame_rate: float
    """Frames per second, 0 where the filters do not say."""


_SOURCES: dict[str, type[SourceStream]] = {"audio": SourceAudioStream, "video": SourceVideoStream}
_OUTPUTS: dict[str, type[OutputStream]] = {"audio": OutputAudioStream, "video": OutputVideoStream}


def source_stream(facts: dict[str, Any]) -> SourceStream:
    """From what the core says."""
    return _SOURCES.get(facts["media_type"], SourceStream)(**facts)


def output_stream(facts: dict[str, Any]) -> OutputStream:
    """From what the core says."""
    return _OUTPUTS[facts["media_type"]](**facts)
