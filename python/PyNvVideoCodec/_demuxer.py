# SPDX-License-Identifier: Apache-2.0
"""PyNvDemuxer: from a media file or an encoded bitstream to packets."""

from __future__ import annotations

import math
import numbers
import operator
import os
import weakref
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import tricodec

from . import _enums
from ._calls import PyNvVCException, PyNvVCExceptionUnsupported, make_lock, note_2, translated_errors
from ._enums import cudaVideoChromaFormat, cudaVideoCodec
from ._layout import layout_of_stream, sample_format
from ._packet import KeyPacket, PacketData, PacketIndex, from_source

_CODECS = {
    "mpeg1video": cudaVideoCodec.MPEG1,
    "mpeg2video": cudaVideoCodec.MPEG2,
    "mpeg4": cudaVideoCodec.MPEG4,
    "wmv3": cudaVideoCodec.VC1,
    "vc1": cudaVideoCodec.VC1,
    "h264": cudaVideoCodec.H264,
    "mjpeg": cudaVideoCodec.JPEG,
    "hevc": cudaVideoCodec.HEVC,
    "vp8": cudaVideoCodec.VP8,
    "vp9": cudaVideoCodec.VP9,
    "av1": cudaVideoCodec.AV1,
}
_COLOR_SPACES = {
    "bt709": _enums.ColorSpace.BT_709,
    "bt470bg": _enums.ColorSpace.BT_601,
    "smpte170m": _enums.ColorSpace.BT_601,
}
_COLOR_RANGES = {"limited": _enums.ColorRange.MPEG, "full": _enums.ColorRange.JPEG}

Source = str | bytes | os.PathLike[str] | Callable[[bytearray], int]

#: Demuxers by the number that GetAVFormatInputContext() returned for them.
_contexts: weakref.WeakValueDictionary[int, PyNvDemuxer] = weakref.WeakValueDictionary()


def demuxer_of(context: int) -> PyNvDemuxer:
    """The demuxer to which a number of ``GetAVFormatInputContext()`` belongs.

    Raises:
        ValueError: there is no such demuxer, or it is no longer alive.
    """
    found = _contexts.get(context)
    if found is None:
        message = f"{context} is no input context; pass the result of GetAVFormatInputContext() of an open demuxer"
        raise ValueError(message)
    return found


class _CallbackReader:
    """A function that fills a buffer, as an object with ``read()``. It cannot seek."""

    name = "<callback>"

    def __init__(self, fill: Callable[[bytearray], int]) -> None:
        self._fill = fill

    def read(self, size: int) -> bytes:
        buffer = bytearray(size)
        count = operator.index(self._fill(buffer))
        if not 0 <= count <= size:
            message = f"the callback returned {count} for {size} bytes; return the number written, 0 at the end"
            raise ValueError(message)
        return bytes(memoryview(buffer)[:count])


class PyNvDemuxer:
    """Packets of a file's video stream, in file order.

    Iteration gives all packets and then one empty packet, for which the decoder returns its last frames. H.264 and HEVC
    packets are Annex B with parameter sets before each key frame, in every container.

    Args:
        filename: path of a media file or of an elementary stream (``str``, ``bytes`` or ``os.PathLike``); or a function
            that fills a bytearray and returns the number of bytes written, 0 at the end. The bytes are kept (within
            ``tricodec.set_limits``) if the container needs them again, as does an mp4 with its index at the end.

    Raises:
        PyNvVCException: the file is missing (then also a ``FileNotFoundError``), cannot be read, or holds no video.

    Thread safety: calls from several threads take turns.
    """

    def __init__(self, filename: Source) -> None:
        self._source: Any
        if isinstance(filename, bytes):
            filename = os.fsdecode(filename)
        if callable(filename):
            note_2()
            self._source, self._name = _CallbackReader(filename), _CallbackReader.name
        elif isinstance(filename, (str, os.PathLike)):
            self._source = self._name = os.fspath(filename)
        else:
            message = f"filename must be a str, bytes, os.PathLike or a callable, not {type(filename).__name__}"
            raise TypeError(message)
        self._lock = make_lock()
        self._index: PacketIndex | None = None
        self._ended = self._started = self._has_video = False
        with translated_errors(self._name):
            try:
                # A callback can be read once only, and other streams may be wanted later.
                self._all_streams = callable(filename)
                self._demuxer = tricodec.Demuxer(self._source, annexb=True, all_streams=self._all_streams)
            except tricodec.UnsupportedError as error:  # there is no video; no other engine would find one
                message = f"{self._name}: {error}"
                raise PyNvVCException(message) from error
            self._stream = self._demuxer.stream
        if not self._stream.width or not self._stream.height:
            message = f"{self._name}: the size of the video is not known; the file may be damaged"
            raise PyNvVCException(message)

    def __iter__(self) -> PyNvDemuxer:
        return self

    def __next__(self) -> PacketData:
        with self._lock:
            if self._ended:
                raise StopIteration
            return self.Demux()

    def Demux(self) -> PacketData:
        """Read the next packet; at the end of the file an empty one (``bsl`` is 0).

        Raises:
            PyNvVCException: the file has ended, and its video stream has no packet at all.
        """
        with self._lock, translated_errors(self._name):
            packet = self._read()
            while packet is not None and packet.stream_index != self._stream.index:
                packet = self._read()
            if packet is not None:
                self._has_video = True
                return from_source(packet, self._stream)
            if not self._has_video:
                message = f"{self._name}: stream {self._stream.index} ({self._stream.codec_name}) has no packets"
                raise PyNvVCException(message)
            return PacketData()

    def DemuxNoSkipAudio(self) -> PacketData:
        """Read the next packet of any stream, in file order; ``is_video`` and ``stream_index`` name its stream.

        At the end it returns an empty packet with ``is_video`` 0.

        Raises:
            PyNvVCException: other calls have read packets before, and left out those of other streams.
        """
        with self._lock, translated_errors(self._name):
            if not self._all_streams:
                if self._started:
                    message = f"{self._name}: DemuxNoSkipAudio must be called from the first packet on"
                    raise PyNvVCException(message)
                self._demuxer = tricodec.Demuxer(self._source, annexb=True, all_streams=True)
                self._all_streams = True
            packet = self._read()
            if packet is None:
                end = PacketData()
                end.is_video = 0
                return end
            self._has_video = self._has_video or packet.stream_index == self._stream.index
            return from_source(packet, self._stream)

    def _read(self) -> tricodec.Packet | None:
        self._started = True
        packet = None if self._ended else self._demuxer.read()
        self._ended = packet is None
        return packet

    def GetAVFormatInputContext(self) -> int:
        """A number for ``FFmpegMuxer(in_format_context=...)``, valid as long as this demuxer is alive."""
        _contexts[id(self)] = self
        return id(self)

    def Seek(self, target: float) -> PacketData:
        """Go to a key frame and return its packet; iteration continues after it.

        Args:
            target: a float is a time in seconds on the time line of ``pts``, and means the first key frame at or after
                it. An int is the number of a frame in presentation order, and means the last key frame at or before it.

        Raises:
            PyNvVCException: there is no such key frame, or no such frame. The position does not change.
            PyNvVCExceptionUnsupported: the source cannot seek, or has no time stamps.
        """
        if not isinstance(target, numbers.Real):
            message = f"Seek takes seconds (float) or a frame's number (int), not {type(target).__name__}"
            raise TypeError(message)
        if not math.isfinite(target) or (isinstance(target, numbers.Integral) and target < 0):
            message = f"Seek({target}): seconds must be finite, and a frame's number 0 or more"
            raise ValueError(message)
        with self._lock, translated_errors(self._name):
            index = self._packet_index()
            if isinstance(target, numbers.Integral):
                key = index.before_frame(int(target))
            else:
                key = index.at_or_after(float(target), float(self._stream.time_base))
            self._ended = False
            return self._go_to(key)

    def isSeekDone(self, pts: int, target: int) -> int:
        """Compare a time with that of a frame: -1 before it, 0 at it, 1 after it.

        Args:
            pts: a presentation time in units of the stream's time base.
            target: number of a frame in presentation order.

        Raises:
            PyNvVCException: there is no such frame.
            PyNvVCExceptionUnsupported: the packets have no times.
        """
        with self._lock, translated_errors(self._name):
            time = self._packet_index().time_of_frame(operator.index(target))
        return (operator.index(pts) > time) - (operator.index(pts) < time)

    def _packet_index(self) -> PacketIndex:
        """The times of all packets, which the first call reads. Raises PyNvVCExceptionUnsupported."""
        if not self._demuxer.seekable or callable(getattr(self._source, "read", None)):
            message = f"Seek isn't supported for {self._name}: it can be read only once, in order; pass a file name"
            raise PyNvVCExceptionUnsupported(message)
        if self._index is None:
            with tricodec.Demuxer(self._source, stream_index=self._stream.index) as packets:
                self._index = PacketIndex(packets, self._name)
        return self._index

    def _go_to(self, key: KeyPacket) -> PacketData:
        start = key.pts if key.dts is None else min(key.dts, key.pts)
        # Some containers seek past the target; the beginning of the file is never past it.
        for target in (start, key.pts, -(2**62)):
            self._demuxer.seek(target)
            while (packet := self._demuxer.read()) is not None:
                if packet.stream_index == self._stream.index and key.is_in(packet):
                    self._has_video = True
                    return from_source(packet, self._stream)
        message = f"{self._name}: the key frame at {key.pts} cannot be found again; has the file changed?"
        raise PyNvVCException(message)

    def Width(self) -> int:
        """Width of a picture in pixels."""
        return int(self._stream.width)

    def Height(self) -> int:
        """Height of a picture in pixels."""
        return int(self._stream.height)

    def FrameSize(self) -> int:
        """Size of a decoded frame in bytes, the later value of ``DecodedFrame.framesize()``."""
        return layout_of_stream(self._stream).size_bytes

    def FrameRate(self) -> float:
        """Average number of frames per second; 0.0 if it is not known."""
        return _to_float(self._stream.average_frame_rate or self._stream.real_frame_rate)

    def RFrameRate(self) -> float:
        """The lowest rate in frames per second that represents every time stamp; 0.0 if it is not known."""
        return _to_float(self._stream.real_frame_rate)

    def AvgFrameRateNum(self) -> int:
        """Numerator of the average frame rate; 0 if it is not known."""
        return _parts(self._stream.average_frame_rate)[0]

    def AvgFrameRateDen(self) -> int:
        """Denominator of the average frame rate; 0 if it is not known."""
        return _parts(self._stream.average_frame_rate)[1]

    def RFrameRateNum(self) -> int:
        """Numerator of ``RFrameRate()``; 0 if it is not known."""
        return _parts(self._stream.real_frame_rate)[0]

    def RFrameRateDen(self) -> int:
        """Denominator of ``RFrameRate()``; 0 if it is not known."""
        return _parts(self._stream.real_frame_rate)[1]

    def GetTimebaseNum(self) -> int:
        """Numerator of the time base of packets and frames in seconds."""
        return _parts(self._stream.time_base)[0]

    def GetTimebaseDen(self) -> int:
        """Denominator of the time base of packets and frames in seconds."""
        return _parts(self._stream.time_base)[1]

    def ColorSpace(self) -> _enums.ColorSpace:
        """The color matrix that the file states."""
        return _COLOR_SPACES.get(self._stream.color.matrix, _enums.ColorSpace.UNSPEC)

    def ColorRange(self) -> _enums.ColorRange:
        """The color range that the file states."""
        return _COLOR_RANGES.get(self._stream.color.range, _enums.ColorRange.UDEF)

    def GetNvCodecId(self) -> cudaVideoCodec:
        """The codec, for ``CreateDecoder(codec=...)``.

        Raises:
            PyNvVCExceptionUnsupported: the codec has no name in ``cudaVideoCodec``.
        """
        codec = _CODECS.get(self._stream.codec_name)
        if codec is None:
            message = f"{self._name} is coded in {self._stream.codec_name!r}; accepted: {', '.join(_CODECS)}"
            raise PyNvVCExceptionUnsupported(message)
        return codec

    def BitDepth(self) -> int:
        """Number of significant bits of a sample, from the codec's headers."""
        return sample_format(self._pixel_format()).depth

    def ChromaFormat(self) -> Any:
        """Chroma subsampling, a member of ``cudaVideoChromaFormat``, from the codec's headers."""
        return cudaVideoChromaFormat[sample_format(self._pixel_format()).subsampling]

    def GetContainerName(self) -> str:
        """Name of the container: ``"mp4"``, ``"mov"``, ``"matroska,webm"``, ``"avi"``, ``"mpegts"``, ``"h264"``, ..."""
        name: str = self._demuxer.info.format_name
        if name.startswith("mov,mp4"):
            return "mov" if self._name.lower().endswith((".mov", ".qt")) else "mp4"
        return name

    def GetVideoStreamId(self) -> int:
        """Number of the video stream in the file."""
        return int(self._stream.index)

    def GetAudioStreamId(self) -> int:
        """Number of the first audio stream in the file; -1 if there is none."""
        return next((int(stream.index) for stream in self._demuxer.info.streams if stream.kind == "audio"), -1)

    def _pixel_format(self) -> str:
        return str(self._stream.pixel_format_name or "yuv420p").replace("yuvj", "yuv")


def _to_float(rate: Fraction | None) -> float:
    return float(rate) if rate else 0.0


def _parts(ratio: Fraction | None) -> tuple[int, int]:
    return (ratio.numerator, ratio.denominator) if ratio else (0, 0)


def CreateDemuxer(filename: Source | None = None, *, callback: Callable[[bytearray], int] | None = None) -> PyNvDemuxer:
    """Open a media file or an encoded bitstream, by its path or by a function; see :class:`PyNvDemuxer`."""
    if (filename is None) == (callback is None):
        message = "CreateDemuxer takes a filename or a callback"
        raise TypeError(message)
    source: Any = callback if filename is None else filename
    return PyNvDemuxer(source)
