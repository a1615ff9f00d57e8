# SPDX-License-Identifier: Apache-2.0
"""PacketData: one access unit, as a demuxer gives it or as a program fills it in by hand."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

import tricodec

#: What pts and dts hold when the container gives no time (INT64_MIN).
NO_TIMESTAMP = -(2**63)

_MEMORYVIEW_READ = 0x100
_memoryview_from_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_memoryview_from_memory.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_memoryview_from_memory.restype = ctypes.py_object


class _Field:
    """An integer attribute of a fixed C type; writing it notes that the packet is no longer the demuxer's."""

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
    """Compressed data of typically one frame.

    A packet of a demuxer owns its bytes: they stay valid for as long as the packet is held, and handing the packet to a
    decoder copies nothing. A packet made by hand borrows the memory at ``bsl_data`` until ``Decode`` returns. Its data
    may be any stretch of an H.264 or HEVC byte stream (one NAL unit, one picture, many); for other codecs it must be
    one frame.

    Attributes:
        bsl: size of the data in bytes; 0 marks the end of the stream.
        bsl_data: address of the data.
        key: 1 if the packet holds a key frame.
        pts: presentation time in units of the stream's time base; INT64_MIN where the container has none.
        dts: decoding time, likewise.
        pos: byte position in the file; 0 where it is not known.
        duration: in units of the stream's time base, 0 unknown.
        decode_flag: ``VideoPacketFlag`` or its integer; ENDOFPICTURE says that a hand-made packet ends its picture.
        stream_index: number of its stream in the file; -1 for a packet made by hand.
        is_video: 1 if it is of the video stream; the packet at the end of ``DemuxNoSkipAudio`` is of none.
        discardable: 1 if it is decoded for its references only.
    """

    __slots__ = (
        "_bsl",
        "_bsl_data",
        "_dts",
        "_duration",
        "_key",
        "_owner",
        "_pos",
        "_pts",
        "_source",
        "_stream",
        "decode_flag",
        "discardable",
        "is_video",
        "stream_index",
    )

    bsl = _Field(*_UINT64)
    bsl_data = _Field(*_UINT64)
    key = _Field(*_INT32)
    pts = _Field(*_INT64)
    dts = _Field(*_INT64)
    pos = _Field(*_UINT64)
    duration = _Field(*_UINT64)

    def __init__(self) -> None:
        """An empty packet: the end of a stream until its fields are set."""
        self._bsl = self._bsl_data = self._key = self._pts = self._dts = self._pos = self._duration = 0
        self._source: tricodec.Packet | None = None  # the demuxer's packet while no field has been overwritten
        self._owner: object = None  # keeps bsl_data valid even then
        self._stream: tricodec.StreamInfo | None = None
        self.decode_flag: int = 0
        self.stream_index, self.is_video, self.discardable = -1, 1, 0

    def __repr__(self) -> str:
        return (
            f"key:      {self._key}\npts:      {self._pts}\ndts:      {self._dts}\npos:      {self._pos}\n"
            f"bsl:      {self._bsl}\nbsl_data:      {self._bsl_data}\nduration: {self._duration}\n"
        )


def from_source(source: tricodec.Packet, stream: tricodec.StreamInfo) -> PacketData:
    """Wraps a demuxer's packet; nothing is copied."""
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
    packet.decode_flag = 0
    packet.stream_index = source.stream_index
    packet.is_video = 1 if source.stream_index == stream.index else 0
    packet.discardable = 1 if source.discard else 0
    return packet


def memory_of(packet: PacketData) -> memoryview:
    """The bytes at ``bsl_data``, not copied: valid while the packet's memory is."""
    view: memoryview = _memoryview_from_memory(packet._bsl_data, packet._bsl, _MEMORYVIEW_READ)
    return view
