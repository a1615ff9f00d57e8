# SPDX-License-Identifier: Apache-2.0
"""What SimpleDecoder and ThreadedDecoder say of a stream."""

from __future__ import annotations

import dataclasses

import tricodec

from ._packet import NO_TIMESTAMP


@dataclasses.dataclass(frozen=True)
class StreamMetadata:
    """Facts of the stream that is decoded.

    Attributes:
        width: pixels.
        height: pixels.
        num_frames: that decoding gives.
        average_fps: frames a second.
        duration: seconds from the first frame to the end of the last.
        bitrate: bits a second.
        codec_name: "h264", "hevc", ...
    """

    width: int
    height: int
    num_frames: int
    average_fps: float
    duration: float
    bitrate: float
    codec_name: str

    def __repr__(self) -> str:
        facts = {**dataclasses.asdict(self), "average_fps": f"{self.average_fps:g}", "bitrate": f"{self.bitrate:g}"}
        facts["duration_in_seconds"] = f"{facts.pop('duration'):g}"
        order = ["width", "height", "num_frames", "average_fps", "duration_in_seconds", "bitrate", "codec_name"]
        return "<StreamMetadata [\n" + "\n".join(f"{name}= {facts[name]}" for name in order) + "\n]>"


@dataclasses.dataclass(frozen=True, repr=False)
class ScannedStreamMetadata(StreamMetadata):
    """The same, and what reading all packets tells.

    Attributes:
        key_frame_indices: numbers of the frames from which decoding can start.
        packet_size: bytes of each packet, in file order.
        pts: presentation times in time base units, ascending.
        dts: decoding times in time base units, in file order.
    """

    key_frame_indices: list[int]
    packet_size: list[int]
    pts: list[int]
    dts: list[int]


def metadata_of(reader: tricodec.FrameReader) -> StreamMetadata:
    """What is known of an open video."""
    stream, num_frames = reader.stream, len(reader)
    rate = stream.average_frame_rate or stream.real_frame_rate
    fps = float(rate) if rate else 0.0
    duration = stream.duration_seconds if stream.duration_seconds > 0 else (num_frames / fps if fps else 0.0)
    size = reader.info.size_bytes
    bitrate = stream.bit_rate or reader.info.bit_rate or (8 * size / duration if size > 0 and duration else 0)
    return StreamMetadata(stream.width, stream.height, num_frames, fps, duration, float(bitrate), stream.codec_name)


def scanned_metadata_of(reader: tricodec.FrameReader, packets: tricodec.Demuxer) -> ScannedStreamMetadata:
    """The same from all packets of the stream, which are read for it."""
    facts = dataclasses.asdict(metadata_of(reader))
    sizes, pts, dts = [], [], []
    for packet in packets:
        sizes.append(len(packet))
        pts.append(NO_TIMESTAMP if packet.pts is None else packet.pts)
        dts.append(NO_TIMESTAMP if packet.dts is None else packet.dts)
    return ScannedStreamMetadata(
        **facts, key_frame_indices=reader.key_frames, packet_size=sizes, pts=sorted(pts), dts=dts
    )
