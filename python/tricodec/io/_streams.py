# SPDX-License-Identifier: Apache-2.0
"""Descriptions of streams: of sources and outputs, the filters of basic outputs, errors in arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import SupportsIndex


@dataclass
class SourceStream:
    """A stream of the source, as the container describes it."""

    media_type: str
    """``"audio"``, ``"video"``, ``"subtitle"``, ``"data"``, ``"attachment"`` or ``"unknown"``."""
    codec: str
    """FFmpeg's short name."""
    codec_long_name: str
    format: str | None
    """Pixel or sample format; None for a stream that is neither audio nor video."""
    bit_rate: int | None
    """Bits per second; 0 if the container does not state it."""
    num_frames: int | None
    """Number of frames that the container states; None if it does not."""
    bits_per_sample: int | None
    """Number of valid bits of a sample; 0 if the codec does not state it."""
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
    """Number of the source stream."""
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
    """Frames per second; 0 if the filters do not state it."""


SOURCES: dict[str, type[SourceStream]] = {"audio": SourceAudioStream, "video": SourceVideoStream}
OUTPUTS: dict[str, type[OutputStream]] = {"audio": OutputAudioStream, "video": OutputVideoStream}


def expect_integers(*, optional: bool = True, **named: object) -> None:
    """Raises TypeError for a value that is no integer, nor None if that is a choice."""
    for name, value in named.items():
        if not isinstance(value, SupportsIndex) and not (optional and value is None):
            raise TypeError(f"{name} must be an int, not {value!r}; use int() or round()")


def basic_audio_filters(sample_format: str | None, sample_rate: int | None, num_channels: int | None) -> str:
    """``aresample=SR,aformat=sample_fmts=F:channel_layouts=Nc``, without values that are None."""
    expect_integers(sample_rate=sample_rate, num_channels=num_channels)
    rate = "" if sample_rate is None else f"aresample={sample_rate}"
    layout = None if num_channels is None else f"{num_channels}c"
    return _chain(rate, _filter("aformat", sample_fmts=sample_format, channel_layouts=layout)) or "anull"


def basic_video_filters(
    frame_rate: float | None, width: int | None, height: int | None, pixel_format: str | None
) -> str:
    """``fps=R,scale=width=W:height=H,format=pix_fmts=F``, without values that are None."""
    expect_integers(width=width, height=height)
    rate = "" if frame_rate is None else f"fps={frame_rate}"
    scale, layout = _filter("scale", width=width, height=height), _filter("format", pix_fmts=pixel_format)
    return _chain(rate, scale, layout) or "null"


def _filter(name: str, **values: object) -> str:
    stated = [f"{key}={value}" for key, value in values.items() if value is not None]
    return f"{name}={':'.join(stated)}" if stated else ""


def _chain(*filters: str) -> str:
    return ",".join(filter(None, filters))


class StreamArgumentError(ValueError, RuntimeError):
    """An argument of a stream is not accepted.

    It is a `ValueError`, as everywhere in tricodec, and a `RuntimeError`, as in torchaudio.
    """


@contextmanager
def argument_errors() -> Iterator[None]:
    """Turns the core's errors in arguments into `StreamArgumentError`."""
    try:
        yield
    except (StreamArgumentError, UnicodeError):
        raise
    except (ValueError, IndexError) as error:
        raise StreamArgumentError(str(error)) from None
