# SPDX-License-Identifier: Apache-2.0
"""PyNvDecoder: from packets to frames."""

from __future__ import annotations

import collections
import functools
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, ParamSpec

import numpy as np
import tricodec

from ._bitstream import AccessUnit, AccessUnitSplitter, SeiCollector
from ._calls import (
    PyNvVCException,
    PyNvVCExceptionUnsupported,
    choose_device,
    expect_flag,
    expect_int,
    logger,
    make_lock,
    note_2,
    translated_errors,
)
from ._decoder_caps import CORE_NAMES
from ._enums import DisplayDecodeLatencyType, OutputColorType, Pixel_Format, VideoPacketFlag, cudaVideoCodec
from ._frame import DecodedFrame, deliver
from ._layout import FrameLayout, sample_format
from ._packet import NO_TIMESTAMP, PacketData, memory_of

_CODEC_ALIASES = {"wmv3": "vc1"}
_BYTE_STREAMS = {"h264", "hevc"}  # their packets contain all headers and may be cut anywhere


class PyNvDecoder:
    """Decodes the packets of one stream; :func:`CreateDecoder` describes the arguments.

    Thread safety: calls from several threads take turns; the interpreter's lock is released while frames are decoded.
    """

    _session_overhead_ms: ClassVar[dict[int, float]] = {}

    def __init__(
        self,
        gpuid: int = 0,
        codec: cudaVideoCodec = cudaVideoCodec.H264,
        cudacontext: int = 0,
        cudastream: int = 0,
        usedevicememory: bool = False,
        enableasyncallocations: bool = False,
        *,
        outputColorType: OutputColorType = OutputColorType.NATIVE,
        enableSEIMessage: bool = False,
        latency: DisplayDecodeLatencyType = DisplayDecodeLatencyType.NATIVE,
        enableDecodeStats: bool = False,
    ) -> None:
        expect_int("gpuid", gpuid)
        if not isinstance(codec, cudaVideoCodec):
            message = f"codec must be a cudaVideoCodec, such as demuxer.GetNvCodecId(), not {codec!r}"
            raise TypeError(message)
        context, self._stream_handle = expect_int("cudacontext", cudacontext), expect_int("cudastream", cudastream)
        self._context = context
        wants_async = expect_flag("enableasyncallocations", enableasyncallocations)
        if wants_async and not (context and self._stream_handle):
            message = (
                "Please provide CUDA context and CUDA stream that application has created: enableasyncallocations=True "
                f"needs both, cudacontext={context} and cudastream={self._stream_handle} were given"
            )
            raise RuntimeError(message)
        name = CORE_NAMES.get(codec)
        if name is None:
            message = (
                f"{codec} names raw pictures, which need no decoder; "
                f"accepted: {', '.join(known.name for known in CORE_NAMES)}"
            )
            raise PyNvVCExceptionUnsupported(message)
        self._codec_name = name
        self._color = OutputColorType(outputColorType)
        # Each thread of the codec holds back one frame.
        self._num_threads = 0 if latency == DisplayDecodeLatencyType.NATIVE else 1
        self._lock = make_lock()
        self._engine: tricodec.Decoder | None = None
        self._splitter = AccessUnitSplitter(hevc=name == "hevc") if name in _BYTE_STREAMS else None
        self._messages = SeiCollector(name) if expect_flag("enableSEIMessage", enableSEIMessage) else None
        self._has_statistics = expect_flag("enableDecodeStats", enableDecodeStats)
        self._session_id: int | None = None
        self._num_packets = self._num_frames = self._num_issues = 0
        self._layout: FrameLayout | None = None
        self._native_format: Pixel_Format | None = None
        self._ready: collections.deque[DecodedFrame] = collections.deque()
        self._locked: dict[int, DecodedFrame] = {}
        self._wanted_from: int | None = None  # frames before this time are left out
        self._announced: tuple[int, int] | None = None  # the size in setReconfigParams
        self._engine_stream: tricodec.video.StreamInfo | None = None
        wants_device = expect_flag("usedevicememory", usedevicememory) or wants_async
        # The first packet opens the engine, because it may bring the stream's description.
        self._request, self._memory = choose_device(gpuid, wants_device, "usedevicememory")
        self._latest: list[weakref.ref[DecodedFrame]] = []

    def Decode(self, packet: PacketData) -> list[DecodedFrame]:
        """Decode a packet: the frames that it completes, in presentation order.

        Args:
            packet: a packet of a demuxer, or one made by hand. An empty one (``bsl`` is 0) ends the stream: the decoder
                returns the frames that it held back and is then ready for another stream.

        Raises:
            PyNvVCException: the stream has ended, and none of its packets could be decoded.
            PyNvVCExceptionUnsupported: no engine decodes this stream.
        """
        if not isinstance(packet, PacketData):
            message = (
                f"Decode takes a PacketData, not {type(packet).__name__}; set its bsl and bsl_data for other bytes"
            )
            raise TypeError(message)
        with self._lock, translated_errors(f"decoding {self._codec_name}"):
            if packet.bDiscontinuity or int(packet.decode_flag) & VideoPacketFlag.DISCONTINUITY:
                self._begin_elsewhere(packet.seek_pts or None)
            frames = [self._deliver(frame) for frame in self._feed(packet) if self._is_wanted(frame)]
            self._latest = [weakref.ref(frame) for frame in frames] or self._latest
            if packet._bsl == 0 or packet._bsl_data == 0:
                self._end_stream()
            return frames

    def __iter__(self) -> PyNvDecoder:
        """The decoder itself. ``__next__`` needs a packet, so no ``for`` loop can call it."""
        return self

    def __next__(self, packet: PacketData) -> list[DecodedFrame]:  # noqa: PLE0302  (the original's signature)
        """The same as ``Decode(packet)``."""
        return self.Decode(packet)

    def GetNumDecodedFrame(self, packet: PacketData) -> int:
        """Decode a packet and keep its frames for ``GetLockedFrame``. Returns the number of frames."""
        frames = self.Decode(packet)
        self._ready.extend(frames)
        return len(frames)

    def GetFrame(self) -> DecodedFrame:
        """The next frame that ``GetNumDecodedFrame`` kept. Raises IndexError if there is none."""
        with self._lock:
            if not self._ready:
                message = "GetFrame(): no frame is ready; GetNumDecodedFrame() returns how many its packet completed"
                raise IndexError(message)
            return self._ready.popleft()

    def GetLockedFrame(self) -> int:
        """Address of the next frame that ``GetNumDecodedFrame`` kept; 0 if there is none.

        The memory of ``GetFrameSize()`` bytes is valid until ``UnlockFrame``.
        """
        with self._lock:
            if not self._ready:
                return 0
            frame = self.GetFrame()
            address = frame.GetPtrToPlane(0)
            self._locked[address] = frame
            return address

    def UnlockFrame(self, address: int) -> None:
        """Return a frame of ``GetLockedFrame``. Raises ValueError for other addresses."""
        if self._locked.pop(expect_int("address", address), None) is None:
            message = f"UnlockFrame({address}): GetLockedFrame() gave no such address, or it was unlocked before"
            raise ValueError(message)

    def GetWidth(self) -> int:
        """Number of samples in a row of the latest frame; even for NV12, P016, NV16 and P216."""
        return self._latest_layout("GetWidth").width

    def GetHeight(self) -> int:
        """Number of luma rows of the latest frame."""
        return self._latest_layout("GetHeight").height

    def GetFrameSize(self) -> int:
        """Size of the latest frame in bytes, the same as its ``framesize()``."""
        return self._latest_layout("GetFrameSize").size_bytes

    def GetPixelFormat(self) -> Pixel_Format:
        """The format of the latest frame before any conversion to RGB."""
        self._latest_layout("GetPixelFormat")
        assert self._native_format is not None
        return self._native_format

    def SetSeekPTS(self, pts: int) -> None:
        """Leave out frames before a presentation time, in units of the stream's time base.

        It holds until a frame at or after that time.
        """
        with self._lock:
            self._wanted_from = expect_int("pts", pts)

    def setReconfigParams(self, width: int = 0, height: int = 0) -> int:
        """End the stream and make the decoder ready for another one, of the same codec and any size.

        Frames that the decoder holds back are dropped: pass an empty packet first to get them.

        Args:
            width: width of the next stream's pictures in pixels; 0 if it is not known.
            height: height of them. Frames have the size of their stream; the logger reports another one.

        Returns:
            1.
        """
        note_2()
        size = expect_int("width", width), expect_int("height", height)
        if min(size) < 0:
            message = f"width and height must be 0 or more, not {size}"
            raise ValueError(message)
        with self._lock:
            self._begin_elsewhere(None)
            self._announced = size if all(size) else None
        return 1

    @staticmethod
    def SetSessionCount(count: int) -> None:
        """Accepted without effect: decoders do not wait for one another."""
        note_2()
        expect_int("count", count)

    def GetSessionInitTime(self) -> int:
        """Time in milliseconds that the first packet took to open the decoder's engine; 0 before it."""
        return int(self._start_ms)

    def WaitOnCUStream(self, stream: int) -> None:
        """Make a CUDA stream wait for the latest frames. Frames in host memory are ready when they are returned."""
        handle = expect_int("stream", stream)
        for array in self._latest_arrays():
            array.wait_on(handle)

    def SyncOnCUStream(self) -> None:
        """Wait on the host for the latest frames. Frames in host memory are ready when they are returned."""
        for array in self._latest_arrays():
            array.wait()

    def _latest_arrays(self) -> list[tricodec.DeviceArray]:
        """Arrays of the latest frames that are on a GPU and that the program still holds."""
        with self._lock:
            frames = [reference() for reference in self._latest]
        return [frame._device_array for frame in frames if frame is not None and frame._device_array is not None]

    def setDecoderSessionID(self, session_id: int) -> None:
        """Set the number under which ``getDecoderSessionOverHead`` reports the start time of this decoder."""
        with self._lock:
            number = expect_int("session_id", session_id)
            if self._session_id is None:
                self._book(number, self._start_ms)
            self._session_id = number

    @staticmethod
    def getDecoderSessionOverHead(session_id: int) -> int:
        """Start time of all decoders with this session number in milliseconds, rounded down; 0 if there were none."""
        return int(PyNvDecoder._session_overhead_ms.get(expect_int("session_id", session_id), 0.0))

    @property
    def issues(self) -> list[tricodec.video.DecodeIssue]:
        """The latest 10,000 reports of packets that were not decoded, or only with damage. (Not in the original.)"""
        return [] if self._engine is None else self._engine.issues

    _start_ms = 0.0

    def _book(self, session_id: int, milliseconds: float) -> None:
        booked = PyNvDecoder._session_overhead_ms
        booked[session_id] = booked.get(session_id, 0.0) + milliseconds

    def _open_engine(self, source: Any) -> tricodec.Decoder:
        started = time.perf_counter()
        with translated_errors(f"decoding {self._codec_name}"):
            self._engine = tricodec.Decoder(
                source, device=self._request, num_threads=self._num_threads, context=self._context,
                stream=self._stream_handle or None, block_statistics=self._has_statistics,
            )  # fmt: skip
        took_ms = (time.perf_counter() - started) * 1e3
        self._start_ms += took_ms
        if self._session_id is not None:
            self._book(self._session_id, took_ms)
        return self._engine

    def _feed(self, packet: PacketData) -> list[tricodec.Frame]:
        if packet._bsl == 0 or packet._bsl_data == 0:
            return self._flush()
        held: list[tricodec.Frame] = []
        if self._engine is not None and self._is_of_other_stream(packet):
            held, self._engine = self._flush(), None
        return held + self._feed_engine(self._engine_for(packet), packet)

    def _feed_engine(self, engine: tricodec.Decoder, packet: PacketData) -> list[tricodec.Frame]:
        self._num_packets += 1
        if packet._source is not None:
            return self._release_units(engine) + self._decode_one(engine, packet._source)
        data = memory_of(packet)
        if self._splitter is None:
            return self._decode_one(engine, _core_packet(data, packet._pts, packet._dts, packet._duration))
        units = self._splitter.push(data, packet._pts, packet._dts, packet._duration)
        if int(packet.decode_flag) & VideoPacketFlag.ENDOFPICTURE:
            units += self._splitter.flush()
        return self._decode_units(engine, units)

    def _engine_for(self, packet: PacketData) -> tricodec.Decoder:
        """The engine. The first packet opens it: not all codecs repeat a stream's description in packets."""
        if self._engine is not None:
            return self._engine
        stream = self._stream_of(packet)
        self._engine_stream, self._num_issues = stream, 0
        return self._open_engine(self._codec_name if stream is None else stream)

    def _stream_of(self, packet: PacketData) -> tricodec.video.StreamInfo | None:
        """The description of the packet's stream, if that is of the decoder's codec."""
        stream = packet._stream
        if stream is None or _CODEC_ALIASES.get(stream.codec_name, stream.codec_name) != self._codec_name:
            return None
        return stream

    def _is_of_other_stream(self, packet: PacketData) -> bool:
        """Whether only another engine decodes the packet: its stream's description is not in its packets."""
        if self._codec_name in _BYTE_STREAMS:
            return False
        return self._stream_of(packet) not in (None, self._engine_stream)

    def _begin_elsewhere(self, wanted_from: int | None) -> None:
        """Drops what the decoder holds back; frames before a time are then left out."""
        self._wanted_from = wanted_from
        if self._splitter is not None:
            self._splitter.flush()
        if self._engine is not None:
            self._engine.reset()

    def _is_wanted(self, frame: tricodec.Frame) -> bool:
        if self._wanted_from is None or frame.pts is None:
            return True
        if frame.pts < self._wanted_from:
            return False
        self._wanted_from = None
        return True

    def _release_units(self, engine: tricodec.Decoder) -> list[tricodec.Frame]:
        """Decodes the data of hand-made packets that are still in the splitter."""
        return self._decode_units(engine, self._splitter.flush() if self._splitter is not None else [])

    def _decode_units(self, engine: tricodec.Decoder, units: Iterable[AccessUnit]) -> list[tricodec.Frame]:
        packets = (_core_packet(unit.data, unit.pts, unit.dts, unit.duration) for unit in units)
        return [frame for packet in packets for frame in self._decode_one(engine, packet)]

    def _decode_one(self, engine: tricodec.Decoder, packet: tricodec.Packet) -> list[tricodec.Frame]:
        return engine.decode(packet, tag=-1 if self._messages is None else self._messages.push(packet))

    def _flush(self) -> list[tricodec.Frame]:
        if self._engine is None:
            return []
        return self._release_units(self._engine) + self._engine.flush()

    def _deliver(self, frame: tricodec.Frame) -> DecodedFrame:
        messages = None if self._messages is None else self._messages.pop(frame.index)
        delivered = deliver(
            frame, self._color, self._memory, self._stream_handle, messages, has_statistics=self._has_statistics
        )
        self._layout = delivered._layout
        self._native_format = sample_format(frame.format).target
        if self._announced is not None:
            if self._announced != (frame.width, frame.height):
                logger.warning(
                    "setReconfigParams%s: the stream's pictures are %dx%d, and frames are not scaled",
                    self._announced, frame.width, frame.height,
                )  # fmt: skip
            self._announced = None
        self._num_frames += 1
        return delivered

    def _end_stream(self) -> None:
        """Reports damage of the stream: an error if no frame could be decoded, else one warning."""
        num_issues = 0 if self._engine is None else self._engine.num_issues
        number = num_issues - self._num_issues
        packets, frames = self._num_packets, self._num_frames
        self._num_issues = num_issues
        self._num_packets = self._num_frames = 0
        if number <= 0:
            return
        new = self.issues[-number:]
        earliest = new[0]
        first = (
            f"{number} of {packets} packets were damaged, the first{' that is kept' * (len(new) < number)} was number "
            f"{earliest.packet_number}: {earliest.message}"
        )
        if frames == 0:
            message = f"no frame of this {self._codec_name} stream could be decoded; {first}"
            raise PyNvVCException(message)
        logger.warning("%s", first)

    def _latest_layout(self, method: str) -> FrameLayout:
        if self._layout is None:
            message = f"{method}() is known after the first decoded frame; use the demuxer's values before"
            raise RuntimeError(message)
        return self._layout


def _core_packet(data: Any, pts: int, dts: int, duration: int) -> tricodec.Packet:
    return tricodec.Packet(
        data,
        pts=None if pts == NO_TIMESTAMP else pts,
        dts=None if dts == NO_TIMESTAMP else dts,
        duration=min(duration, 2**63 - 1),
    )


_P = ParamSpec("_P")

# The arguments after usedevicememory by position. A bool begins the order of 1.0 and of 2.2's second signature.
_AFTER_BOOL = (
    "enableasyncallocations", "maxwidth", "maxheight", "outputColorType", "enableSEIMessage", "latency",
    "enableDecodeStats",
)  # fmt: skip
_AFTER_INT = (
    "maxwidth", "maxheight", "outputColorType", "enableSEIMessage", "bWaitForSessionWarmUp", "latency",
    "enableDecodeStats",
)  # fmt: skip


def _named(positional: tuple[Any, ...]) -> dict[str, Any]:
    """The arguments after ``usedevicememory`` by their names. Raises TypeError."""
    if not positional:
        return {}
    first = positional[0]
    is_bool = isinstance(first, (bool, np.bool_))
    if not is_bool and expect_int("the sixth argument", first) == 1:
        message = (
            "the sixth argument is 1, which may be enableasyncallocations=True of version 1.0 or maxwidth=1 of 2.2; "
            "pass True, or pass it by name"
        )
        raise TypeError(message)
    names = _AFTER_BOOL if is_bool else _AFTER_INT
    if len(positional) > len(names):
        message = f"CreateDecoder takes {5 + len(names)} arguments by position at most, not {5 + len(positional)}"
        raise TypeError(message)
    return dict(zip(names, positional, strict=False))


def _in_both_orders(create: Callable[_P, PyNvDecoder]) -> Callable[_P, PyNvDecoder]:
    @functools.wraps(create)
    def call(*positional: _P.args, **named: _P.kwargs) -> PyNvDecoder:
        return create(*positional[:5], **_named(positional[5:]), **named)  # type: ignore[arg-type]

    return call


@_in_both_orders
def CreateDecoder(
    gpuid: int = 0,
    codec: cudaVideoCodec = cudaVideoCodec.H264,
    cudacontext: int = 0,
    cudastream: int = 0,
    usedevicememory: bool = False,
    enableasyncallocations: bool = False,
    *,
    maxwidth: int = 0,
    maxheight: int = 0,
    outputColorType: OutputColorType = OutputColorType.NATIVE,
    enableSEIMessage: bool = False,
    bWaitForSessionWarmUp: bool = False,
    latency: DisplayDecodeLatencyType = DisplayDecodeLatencyType.NATIVE,
    enableDecodeStats: bool = False,
) -> PyNvDecoder:
    """Make a decoder.

    The arguments after ``usedevicememory`` have two orders by position. A bool is ``enableasyncallocations``, and then
    follow ``maxwidth, maxheight, outputColorType, enableSEIMessage, latency, enableDecodeStats``. Any other integer is
    ``maxwidth``, and then follow ``maxheight, outputColorType, enableSEIMessage, bWaitForSessionWarmUp, latency,
    enableDecodeStats``.

    Args:
        gpuid: number of the GPU; without a GPU it has no effect.
        codec: codec of the packets, ``demuxer.GetNvCodecId()``.
        cudacontext: handle of the application's CUDA context, which must outlive the decoder and its frames. 0 is the
            primary context of the GPU. Without a GPU it has no effect.
        cudastream: handle of the application's CUDA stream; work queued on it after ``Decode`` sees complete frames. 0
            is the default stream. Without a GPU it has no effect.
        usedevicememory: whether frames are in device memory. Without a usable GPU they are in host memory, and one
            warning a process reports it; the environment variable TRICODEC_DEVICE=cuda makes this an error.
        enableasyncallocations: frames in device memory; needs ``cudacontext`` and ``cudastream``. Device memory always
            comes from a pool in stream order.
        maxwidth: accepted without effect; decoders take any size at any time.
        maxheight: as ``maxwidth``.
        outputColorType: RGB or RGBP convert frames to 8-bit RGB.
        enableSEIMessage: whether frames of H.264 and HEVC have ``getSEIMessage()``.
        bWaitForSessionWarmUp: accepted without effect; there is no session to warm up.
        latency: LOW and ZERO decode on one thread, which holds back no frame for other threads. Frames always come in
            presentation order.
        enableDecodeStats: whether frames of H.264 and HEVC have decode statistics, see
            ``DecodedFrame.ParseDecodeStats``. The CPU decodes H.264 if the GPU's driver does not give them.

    Raises:
        TypeError: the sixth argument by position is the integer 1, which may mean either.
        RuntimeError: asynchronous allocation without a context and a stream.
        PyNvVCExceptionUnsupported: no engine decodes the codec.
        tricodec.DeviceError: TRICODEC_DEVICE requires a GPU, and there is none.
    """
    for name, value in (("maxwidth", maxwidth), ("maxheight", maxheight)):
        if expect_int(name, value) < 0:
            message = f"{name} must be 0 or more, not {value}"
            raise ValueError(message)
    expect_flag("bWaitForSessionWarmUp", bWaitForSessionWarmUp)
    if any((maxwidth, maxheight, outputColorType, enableSEIMessage, bWaitForSessionWarmUp, latency, enableDecodeStats)):
        note_2()
    return PyNvDecoder(
        gpuid, codec, cudacontext, cudastream, usedevicememory, enableasyncallocations,
        outputColorType=outputColorType, enableSEIMessage=enableSEIMessage, latency=latency,
        enableDecodeStats=enableDecodeStats,
    )  # fmt: skip
