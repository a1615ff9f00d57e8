# SPDX-License-Identifier: Apache-2.0
"""A video whose frames are given as DecodedFrames, by number or one after another."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import tricodec
from tricodec._tricodec import SpooledSource

from ._arguments import expect_flag, expect_int, warn_of_host_memory
from ._enums import OutputColorType
from ._errors import PyNvVCExceptionUnsupported, translated_errors
from ._frame import DecodedFrame, make_frame
from ._metadata import ScannedStreamMetadata, StreamMetadata, metadata_of, scanned_metadata_of
from ._packet import NO_TIMESTAMP
from ._surface import make_surface

_LARGE_BYTES = 8 << 20


class VideoFile:
    """What SimpleDecoder and ThreadedDecoder share. Thread safety: calls from several threads take turns."""

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
        if expect_flag("enableDecodeStats", enable_decode_stats):
            message = "enableDecodeStats is not in this version; leave it out"
            raise PyNvVCExceptionUnsupported(message)
        gpu = expect_int("gpu_id", gpu_id)
        self._context = expect_int("cuda_context", cuda_context)
        self._stream = expect_int("cuda_stream", cuda_stream)
        self._color = OutputColorType(output_color_type)
        self._scanned = expect_flag("need_scanned_stream_metadata", need_scanned_stream_metadata)
        device = tricodec.resolve_device("auto")
        if device != "cpu" and gpu != 0:
            device = tricodec.resolve_device(f"cuda:{gpu}")
        self._request = "auto" if gpu == 0 or device == "cpu" else f"auto:{gpu}"
        wants_device = expect_flag("use_device_memory", use_device_memory)
        self._memory = device if wants_device and device != "cpu" else None
        if wants_device and device == "cpu":
            warn_of_host_memory("use_device_memory")
        self.open(source)

    def open(self, source: Any) -> None:
        """Goes over to another video; what was given out stays valid.

        Raises:
            TypeError: for a source of no accepted type.
            PyNvVCException, PyNvVCExceptionUnsupported: for a video that cannot be read or decoded.
        """
        self._source = _accepted(source)
        name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else type(source).__name__
        started = time.perf_counter()
        with translated_errors(str(name)):
            self.reader = tricodec.FrameReader(
                self._source, device=self._request, context=self._context, stream=self._stream or None
            )
            self.num_frames = len(self.reader)
            if self.num_frames == 0:
                self.reader.select()  # raises and says why there are none
            self._metadata = metadata_of(self.reader)
        self.start_ms = (time.perf_counter() - started) * 1e3

    @property
    def metadata(self) -> StreamMetadata:
        """Of the stream."""
        return self._metadata

    def scan(self) -> ScannedStreamMetadata:
        """The same from all packets. Raises RuntimeError unless it was asked for when the decoder was made."""
        if not self._scanned:
            message = "scanned metadata need need_scanned_stream_metadata=1 when the decoder is made"
            raise RuntimeError(message)
        with translated_errors("reading the packets"), tricodec.Demuxer(self._source) as packets:
            return scanned_metadata_of(self.reader, packets)

    def frames(self, numbers: list[int]) -> list[DecodedFrame]:
        """Frames by number, which must exist."""
        with translated_errors("decoding"):
            return [self._deliver(frame) for frame in self.reader.frames(numbers)]

    def iterate(self, start: int) -> Iterator[DecodedFrame]:
        """Frames one after another, decoded ahead."""
        if start >= self.num_frames:
            return
        with translated_errors("decoding"):
            for frame in self.reader.iterate(start=start):
                yield self._deliver(frame)

    def existing(self, numbers: Iterable[int]) -> list[int]:
        """The numbers of frames that exist, each once; the others cost a warning."""
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
        layout, address, owner = make_surface(frame, self._color, self._memory)
        if isinstance(owner, tricodec.DeviceArray):
            owner.wait_on(None)
            if self._stream:
                owner.wait_on(self._stream)
        timestamp = NO_TIMESTAMP if frame.pts is None else frame.pts
        return make_frame(layout, address, owner, timestamp, self._stream)


def _accepted(source: Any) -> Any:
    if isinstance(source, (str, os.PathLike)):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        if len(source) > _LARGE_BYTES:
            message = f"{len(source)} bytes are copied; a path is read as it is decoded"
            warnings.warn(message, UserWarning, stacklevel=4)
        return bytes(source)
    if hasattr(source, "read"):
        return SpooledSource(source)  # what cannot seek is read twice, too
    message = (
        f"a source must be a path (str, os.PathLike), bytes, bytearray, memoryview, or an object with read(), "
        f"not {type(source).__name__}"
    )
    raise TypeError(message)
