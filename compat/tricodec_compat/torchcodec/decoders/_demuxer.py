# SPDX-License-Identifier: Apache-2.0
"""torchcodec's Demuxer and its streams on the project's Demuxer."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import torch
import tricodec
from tricodec.video import MediaInfo, StreamInfo

from tricodec_compat.torchcodec._metadata import (
    ContainerMetadata,
    DemuxerMetadata,
    VideoStreamHeaderMetadata,
    container_fields,
    header_of,
)
from tricodec_compat.torchcodec._source import opened, probed
from tricodec_compat.torchcodec.decoders._arguments import device_of, expect_num_threads, expect_stream
from tricodec_compat.torchcodec.decoders._frame_index import FrameIndex, FramePacket
from tricodec_compat.torchcodec.decoders._packet_decoder import VideoPacketDecoder
from tricodec_compat.torchcodec.decoders._packets import Packet, ProcessLocal


class VideoStream(ProcessLocal):
    """A video stream that a `Demuxer` follows.

    Attributes:
        index: among all streams of the file, as `Packet.stream_index`.
        metadata: a VideoStreamHeaderMetadata.
    """

    index: int
    metadata: VideoStreamHeaderMetadata

    def __init__(self, demuxer: Demuxer, stream: StreamInfo) -> None:
        header = header_of(stream)
        assert isinstance(header, VideoStreamHeaderMetadata)
        self.index = stream.index
        self.metadata = header
        self._demuxer = demuxer
        self._stream = stream
        self._frame_index: FrameIndex | None = None

    def scan(self) -> FrameIndex:
        """Read all packets without decoding them, and return what they say of the frames; a second call reads none.

        Raises:
            RuntimeError: after the first packet was read from the demuxer.
        """
        if self._frame_index is None:
            self._frame_index = FrameIndex(self._demuxer._scan(self.index), self._stream.time_base or Fraction(0))
        return self._frame_index

    def make_decoder(
        self, device: str | torch.device | None = None, *, num_ffmpeg_threads: int = 1
    ) -> VideoPacketDecoder:
        """A decoder for the packets of this stream.

        Args:
            device: where pictures are decoded; None is torch's default device.
            num_ffmpeg_threads: threads of the decoder on the CPU; 0 is one a core.

        Raises:
            ValueError: for a number of threads that is no integer.
            RuntimeError: if the device does not exist.
        """
        expect_num_threads(num_ffmpeg_threads)
        return VideoPacketDecoder._of(self._stream, device_of(device), max(0, num_ffmpeg_threads))

    def __repr__(self) -> str:
        return f"VideoStream(index={self.index})"


class Demuxer(ProcessLocal):
    """The packets of the video streams of a file, in the order of the file. Iterating yields them.

    Args:
        source: as in `VideoDecoder`.
        streams: "video" for the best stream, the number of a stream, a tuple of these, or "all" for every video stream.

    Attributes:
        streams: a VideoStream for each selector, in their order.
        metadata: a DemuxerMetadata.

    Raises:
        ValueError: for a selector that is not accepted, or a stream that is not there.
        TypeError: for a source of another kind.
        RuntimeError: if the source cannot be opened.

    Thread safety: calls from several threads take turns.
    """

    streams: tuple[VideoStream, ...]
    metadata: DemuxerMetadata

    def __init__(self, source: Any, *, streams: str | int | tuple[str | int, ...] = "video") -> None:
        self._source = source
        self._demuxer = self._open()
        self._scanned: dict[int, list[FramePacket]] | None = None
        self._generation = 0
        self._has_read = False
        info = self._demuxer.info
        indices = _selected(streams, info)
        self.streams = tuple(VideoStream(self, info.streams[i]) for i in indices)
        self._indices = set(indices)
        self._seeks_in = self._demuxer.stream.index
        self.metadata = DemuxerMetadata(**container_fields(info))

    def __iter__(self) -> Demuxer:
        return self

    def __next__(self) -> Packet:
        self._has_read = True
        while (packet := self._demuxer.read()) is not None:
            if packet.stream_index in self._indices:
                return Packet(packet, self._generation)
        raise StopIteration

    def seek(self, seconds: float, *, stream: VideoStream | None = None) -> None:
        """Continue at the last key frame at or before a time; all streams move. Then reset() the decoders.

        Args:
            seconds: the time.
            stream: of which the key frame is; None is the first of `streams`.

        Raises:
            RuntimeError: if the source cannot seek, or `stream` is not followed.
        """
        index = self.streams[0].index if stream is None else stream.index
        if index not in self._indices:
            raise RuntimeError(f"The stream at index {index} is not being demuxed; name it in streams")
        if index != self._seeks_in:
            self._demuxer = self._open(index)
            self._seeks_in = index
        self._demuxer.seek_seconds(float(seconds))
        self._generation += 1

    def _open(self, stream_index: int = -1) -> tricodec.Demuxer:
        return opened(self._source, lambda given: tricodec.Demuxer(given, stream_index=stream_index, all_streams=True))

    def _scan(self, index: int) -> list[FramePacket]:
        """The packets of a stream that are shown; all packets of the file are read once."""
        if self._scanned is None:
            if self._has_read:
                raise RuntimeError("A scan reads the file from end to end: call scan() before the first packet is read")
            found: dict[int, list[FramePacket]] = {stream.index: [] for stream in self.streams}
            for packet in self._demuxer:
                if packet.stream_index in found and not packet.discard:
                    time = packet.dts if packet.pts is None else packet.pts
                    found[packet.stream_index].append(FramePacket(time or 0, packet.duration, packet.key))
            self._demuxer = self._open(self._seeks_in)
            self._scanned = found
        return self._scanned[index]


def get_container_metadata(source: Any) -> ContainerMetadata:
    """What the header of a file says of it and of its streams.

    Args:
        source: as in `VideoDecoder`.

    Raises:
        TypeError: for a source of another kind.
        RuntimeError: if the source cannot be opened.
    """
    info = opened(source, probed)
    return ContainerMetadata(**container_fields(info), streams=[header_of(stream) for stream in info.streams])


def _selected(streams: Any, info: MediaInfo) -> list[int]:
    if streams == "all":
        return [stream.index for stream in info.streams if stream.kind == "video"]
    if isinstance(streams, (str, int)) or not isinstance(streams, Iterable):
        streams = (streams,)
    indices: list[int] = []
    for selector in streams:
        index = _index_of(selector, info)
        if index in indices:
            raise ValueError(f"The stream at index {index} is already being demuxed; name each stream once")
        indices.append(index)
    if not indices:
        raise ValueError("streams is empty; name 'video', 'all' or the numbers of streams")
    return indices


def _index_of(selector: Any, info: MediaInfo) -> int:
    if selector == "all":
        raise ValueError("streams='all' can only be used on its own, not in a tuple with other selectors")
    if selector == "video":
        if info.video is None:
            raise ValueError("No valid video stream found in input file")
        return info.video.index
    if not isinstance(selector, int) or isinstance(selector, bool):
        raise ValueError(
            f"Invalid stream selector {selector!r}. Expected 'video', 'all' or the number of a video stream; "
            "AudioDecoder reads sound."
        )
    expect_stream(info.streams, selector)
    kind = info.streams[selector].kind
    if kind != "video":
        raise ValueError(f"The stream at index {selector} is of type '{kind}'; only packets of video are read here")
    return selector


for _class in (VideoStream, Demuxer):
    _class.__module__ = "tricodec_compat.torchcodec.decoders"
