# SPDX-License-Identifier: Apache-2.0
"""PacketData, the access unit that demuxers and programs make; and the index of a stream's packets, for seeking."""

from __future__ import annotations

import bisect
import ctypes
import dataclasses
import operator
from collections.abc import Iterable
from typing import Any

import tricodec

from ._calls import PyNvVCException, PyNvVCExceptionUnsupported

#: The value of pts and dts if the container has no time (INT64_MIN).
NO_TIMESTAMP = -(2**63)

_MEMORYVIEW_READ = 0x100
_memoryview_from_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_memoryview_from_memory.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_memoryview_from_memory.restype = ctypes.py_object


class _Field:
    """An integer attribute of a fixed C type. Setting it detaches the packet from the demuxer's packet."""

    __slots__ = ("_high", "_low", "_name", "_slot", "_type")

    def __init__(self, low: int, high: int, c_type: str) -> None:
        self._low, self._high, self._type = low, high, c_type

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._slot = name, "_" + name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(instance, self._slot)

    def __set__(self, instance: Any, value: Any) -> None:
        try:
            number = operator.index(value)
        except TypeError:
            message = f"PacketData.{self._name} takes an int ({self._type}), not {type(value).__name__}"
            raise TypeError(message) from None
        if not self._low <= number <= self._high:
            message = f"PacketData.{self._name} = {number} does not fit {self._type} ({self._low} to {self._high})"
            raise ValueError(message)
        setattr(instance, self._slot, number)
        instance._source = None


_INT32 = (-(2**31), 2**31 - 1, "int32")
_INT64 = (-(2**63), 2**63 - 1, "int64")
_UINT64 = (0, 2**64 - 1, "uint64")


class PacketData:
    """Compressed data, typically of one frame.

    A packet of a demuxer owns its bytes: they stay valid as long as the packet exists, and a decoder reads them without
    a copy. A packet made by hand borrows the memory at ``bsl_data`` until ``Decode`` returns. Its data may be any piece
    of an H.264 or HEVC byte stream (one NAL unit, one picture, many). For other codecs it must be one frame.

    Attributes:
        bsl: size of the data in bytes; 0 marks the end of the stream.
        bsl_data: address of the data.
        key: 1 if the packet holds a key frame.
        pts: presentation time in units of the stream's time base; INT64_MIN if the container has none.
        dts: decoding time in units of the stream's time base; INT64_MIN if the container has none.
        pos: position in the file in bytes; 0 if it is not known.
        duration: duration in units of the stream's time base; 0 if it is not known.
        decode_flag: a ``VideoPacketFlag`` or its integer; ENDOFPICTURE marks the last packet of a picture.
        stream_index: number of the stream in the file; -1 for a packet made by hand.
        is_video: 1 for a packet of the video stream, and 0 for the empty packet at the end of ``DemuxNoSkipAudio``.
        discardable: 1 if the packet is decoded only as a reference for other pictures.
        bDiscontinuity: 1 for the first packet after a seek: the decoder drops the frames that it holds back.
        seek_pts: with ``bDiscontinuity``, the time from which on frames are wanted; 0 is every frame.

    Thread safety: one thread at a time may set fields; any thread may read them.
    """

    __slots__ = (
        "_bsl", "_bsl_data", "_dts", "_duration", "_key", "_owner", "_pos", "_pts", "_source", "_stream",
        "bDiscontinuity", "decode_flag", "discardable", "is_video", "seek_pts", "stream_index",
    )  # fmt: skip

    bsl = _Field(*_UINT64)
    bsl_data = _Field(*_UINT64)
    key = _Field(*_INT32)
    pts = _Field(*_INT64)
    dts = _Field(*_INT64)
    pos = _Field(*_UINT64)
    duration = _Field(*_UINT64)

    def __init__(self) -> None:
        """Make an empty packet, which is the end of a stream until its fields are set."""
        self._bsl = self._bsl_data = self._key = self._pts = self._dts = self._pos = self._duration = 0
        self._source: tricodec.Packet | None = None  # the demuxer's packet, until a field is set
        self._owner: object = None  # keeps the memory at bsl_data alive even then
        self._stream: tricodec.video.StreamInfo | None = None
        self.decode_flag: int = 0
        self.stream_index, self.is_video, self.discardable = -1, 1, 0
        self.bDiscontinuity = self.seek_pts = 0

    def __repr__(self) -> str:
        return (
            f"key:      {self._key}\npts:      {self._pts}\ndts:      {self._dts}\npos:      {self._pos}\n"
            f"bsl:      {self._bsl}\nbsl_data:      {self._bsl_data}\nduration: {self._duration}\n"
        )


def from_source(source: tricodec.Packet, stream: tricodec.video.StreamInfo) -> PacketData:
    """Wraps a demuxer's packet without a copy."""
    packet = PacketData.__new__(PacketData)
    pts, dts, pos = source.pts, source.dts, source.pos
    packet._bsl = len(source)
    packet._bsl_data = source.address
    packet._key = 1 if source.key else 0
    packet._pts = NO_TIMESTAMP if pts is None else pts
    packet._dts = NO_TIMESTAMP if dts is None else dts
    packet._pos = max(pos, 0)
    packet._duration = max(source.duration, 0)
    packet._source = packet._owner = source
    packet._stream = stream
    packet.decode_flag = packet.bDiscontinuity = packet.seek_pts = 0
    packet.stream_index = source.stream_index
    packet.is_video = 1 if source.stream_index == stream.index else 0
    packet.discardable = 1 if source.discard else 0
    return packet


def memory_of(packet: PacketData) -> memoryview:
    """The bytes at ``bsl_data`` without a copy, valid as long as the packet's memory."""
    view: memoryview = _memoryview_from_memory(packet._bsl_data, packet._bsl, _MEMORYVIEW_READ)
    return view


@dataclasses.dataclass(frozen=True, slots=True)
class KeyPacket:
    """A packet from which decoding can start."""

    pts: int
    dts: int | None

    def is_in(self, packet: tricodec.Packet) -> bool:
        """Whether this is the packet."""
        return bool(packet.key) and packet.dts == self.dts and time_of(packet) == self.pts


def time_of(packet: tricodec.Packet) -> int | None:
    """The presentation time; for containers without one (AVI) the decoding time."""
    return packet.dts if packet.pts is None else packet.pts


class PacketIndex:
    """Presentation times of a stream's frames, and its key packets.

    Args:
        packets: all packets of the stream, in file order.
        name: name of the file, for messages.
    """

    def __init__(self, packets: Iterable[tricodec.Packet], name: str) -> None:
        times: list[int] = []
        keys: list[KeyPacket] = []
        most = tricodec.get_limits().max_packets
        for packet in packets:
            time = time_of(packet)
            if time is None:
                message = (
                    f"Seek isn't supported for {name}: its packets have no time stamps (a bare elementary stream?)"
                )
                raise PyNvVCExceptionUnsupported(message)
            if len(times) >= most:
                message = f"{name} has more than limits.max_packets = {most} packets"
                raise PyNvVCException(message)
            if packet.key:
                keys.append(KeyPacket(time, packet.dts))
            if not packet.discard:
                times.append(time)
        self._name = name
        self._frame_times = sorted(times)
        self._keys = sorted(keys, key=lambda key: key.pts)
        self._key_times = [key.pts for key in self._keys]

    def at_or_after(self, seconds: float, seconds_per_unit: float) -> KeyPacket:
        """The first key packet at ``seconds`` or later. Raises PyNvVCException if there is none."""
        # Rounds to the nearest unit, because 0.48 / (1 / 12800) is not exactly a whole number.
        number = bisect.bisect_left(self._key_times, round(seconds / seconds_per_unit))
        if number == len(self._keys):
            last = f"the last one is at {self._key_times[-1] * seconds_per_unit:.6g} s" if self._keys else "it has none"
            message = f"Seek({seconds!r}): {self._name} has no key frame at or after {seconds} s; {last}"
            raise PyNvVCException(message)
        return self._keys[number]

    def time_of_frame(self, index: int) -> int:
        """Presentation time of frame ``index``. Raises PyNvVCException past the last frame."""
        if not 0 <= index < len(self._frame_times):
            message = (
                f"Seek({index}): {self._name} has {len(self._frame_times)} frames, 0 to {len(self._frame_times) - 1}"
            )
            raise PyNvVCException(message)
        return self._frame_times[index]

    def before_frame(self, index: int) -> KeyPacket:
        """The last key packet at or before frame ``index``. Raises PyNvVCException past the last frame."""
        number = bisect.bisect_right(self._key_times, self.time_of_frame(index)) - 1
        if not self._keys:
            message = f"Seek({index}): {self._name} has no key frame"
            raise PyNvVCException(message)
        return self._keys[max(number, 0)]
