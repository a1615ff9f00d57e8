# SPDX-License-Identifier: Apache-2.0
"""A video as DecodedFrames, by number or one after another, and its metadata."""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import tricodec
from tricodec._tricodec import SpooledSource

from ._calls import choose_device, expect_flag, expect_int, translated_errors
from ._enums import OutputColorType
from ._frame import DecodedFrame, deliver
from ._packet import NO_TIMESTAMP


@dataclasses.dataclass(frozen=True)
class StreamMetadata:
    """Description of a video stream.

    Attributes:
        width: width of a picture in pixels.
        height: height of a picture in pixels.
        num_frames: number of frames.
        average_fps: average number of frames per second.
        duration: seconds from the first frame to the end of the last.
        bitrate: rate in bits per second.
        codec_name: name of the codec: "h264", "hevc", ...
    """

    width: int = 0
    height: int = 0
    num_frames: int = 0
    average_fps: float = 0.0
    duration: float = 0.0
    bitrate: float = 0.0
    codec_name: str = ""

    def __repr__(self) -> str:
        facts = {**dataclasses.asdict(self), "average_fps": f"{self.average_fps:g}", "bitrate": f"{self.bitrate:g}"}
        facts["duration_in_seconds"] = f"{facts.pop('duration'):g}"
        order = ["width", "height", "num_frames", "average_fps", "duration_in_seconds", "bitrate", "codec_name"]
        return "<StreamMetadata [\n" + "\n".join(f"{name}= {facts[name]}" for name in order) + "\n]>"


@dataclasses.dataclass(frozen=True, repr=False)
class ScannedStreamMetadata(StreamMetadata):
    """Description of a video stream and of all its packets.

    Attributes:
        key_frame_indices: numbers of the frames at which decoding can start.
        packet_size: size of each packet in bytes, in file order.
        pts: presentation times in units of the time base, ascending.
        dts: decoding times in units of the time base, in file order.
    """

    key_frame_indices: list[int] = dataclasses.field(default_factory=list)
    packet_size: list[int] = dataclasses.field(default_factory=list)
    pts: list[int] = dataclasses.field(default_factory=list)
    dts: list[int] = dataclasses.field(default_factory=list)


def metadata_of(reader: tricodec.FrameReader) -> StreamMetadata:
    """The description of an open video."""
    stream, num_frames = reader.stream, len(reader)
    rate = stream.average_frame_rate or stream.real_frame_rate
    fps = float(rate) if rate else 0.0
    duration = stream.duration_seconds if stream.duration_seconds > 0 else (num_frames / fps if fps else 0.0)
    size = reader.info.size_bytes
    bitrate = stream.bit_rate or reader.info.bit_rate or (8 * size / duration if size > 0 and duration else 0)
    return StreamMetadata(stream.width, stream.height, num_frames, fps, duration, float(bitrate), stream.codec_name)


def scanned_metadata_of(reader: tricodec.FrameReader, packets: tricodec.Demuxer) -> ScannedStreamMetadata:
    """The description of an open video and of its packets, which this call reads."""
    facts = dataclasses.asdict(metadata_of(reader))
    sizes, pts, dts = [], [], []
    for packet in packets:
        sizes.append(len(packet))
        pts.append(NO_TIMESTAMP if packet.pts is None else packet.pts)
        dts.append(NO_TIMESTAMP if packet.dts is None else packet.dts)
    return ScannedStreamMetadata(
        **facts, key_frame_indices=reader.key_frames, packet_size=sizes, pts=sorted(pts), dts=dts
    )


_LARGE_BYTES = 8 << 20


class VideoFile:
    """A video for SimpleDecoder and ThreadedDecoder. Thread safety: calls from several threads take turns."""

    def __init__(
        self,
        source: Any,
        gpu_id: int,
        cuda_context: int,
        cuda_stream: int,
        use_device_memory: bool,
        output_color_type: OutputColorType,
        need_scanned_stream_metadata: bool,
        enable_decode_stats: bool,
    ) -> None:
        self._has_statistics = expect_flag("enableDecodeStats", enable_decode_stats)
        gpu = expect_int("gpu_id", gpu_id)
        self._context = expect_int("cuda_context", cuda_context)
        self._stream = expect_int("cuda_stream", cuda_stream)
        self._color = OutputColorType(output_color_type)
        self._scanned = expect_flag("need_scanned_stream_metadata", need_scanned_stream_metadata)
        wants_device = expect_flag("use_device_memory", use_device_memory)
        self._request, self._memory = choose_device(gpu, wants_device, "use_device_memory")
        self.open(source)

    def open(self, source: Any) -> None:
        """Opens another video; frames of the video before stay valid.

        Raises:
            TypeError: the type of the source is not accepted.
            PyNvVCException, PyNvVCExceptionUnsupported: the video cannot be read or decoded.
        """
        self._source = _accepted(source)
        name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else type(source).__name__
        started = time.perf_counter()
        with translated_errors(str(name)):
            self.reader = tricodec.FrameReader(
                self._source,
                device=self._request,
                context=self._context,
                stream=self._stream or None,
                block_statistics=self._has_statistics,
            )
            self.num_frames = len(self.reader)
            if self.num_frames == 0:
                self.reader.select()  # raises an error with the reason
            self._metadata = metadata_of(self.reader)
        self.start_ms = (time.perf_counter() - started) * 1e3

    @property
    def metadata(self) -> StreamMetadata:
        """Description of the stream."""
        return self._metadata

    def scan(self) -> ScannedStreamMetadata:
        """Description of the stream and its packets. Raises RuntimeError if it was not requested at the start."""
        if not self._scanned:
            message = "scanned metadata need a decoder made with need_scanned_stream_metadata=1"
            raise RuntimeError(message)
        with translated_errors("reading the packets"), tricodec.Demuxer(self._source) as packets:
            return scanned_metadata_of(self.reader, packets)

    def frames(self, numbers: list[int]) -> list[DecodedFrame]:
        """Frames by their numbers, which must exist."""
        with translated_errors("decoding"):
            return [self._deliver(frame) for frame in self.reader.frames(numbers)]

    def iterate(self, start: int) -> Iterator[DecodedFrame]:
        """Frames one after another from `start` on, decoded ahead."""
        if start >= self.num_frames:
            return
        with translated_errors("decoding"):
            for frame in self.reader.iterate(start=start):
                yield self._deliver(frame)

    def existing(self, numbers: Iterable[int]) -> list[int]:
        """The numbers of frames that exist, each once; any other number gives a warning."""
        found: dict[int, None] = {}
        for number in numbers:
            index = expect_int("index", number)
            if 0 <= index < self.num_frames:
                found[index] = None
            else:
                message = f"index {index} is out of range [0, {self.num_frames - 1}] and left out"
                warnings.warn(message, UserWarning, stacklevel=3)
        return list(found)

    def _deliver(self, frame: tricodec.Frame) -> DecodedFrame:
        return deliver(frame, self._color, self._memory, self._stream, has_statistics=self._has_statistics)


def _accepted(source: Any) -> Any:
    if isinstance(source, (str, os.PathLike)):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        if len(source) > _LARGE_BYTES:
            message = f"{len(source)} bytes are copied; a path is read without that copy"
            warnings.warn(message, UserWarning, stacklevel=4)
        return bytes(source)
    if hasattr(source, "read"):
        return SpooledSource(source)  # makes sources without seek() readable twice
    message = (
        f"a source must be a path (str, os.PathLike), bytes, bytearray, memoryview, or an object with read(), "
        f"not {type(source).__name__}"
    )
    raise TypeError(message)
