# SPDX-License-Identifier: Apache-2.0
"""Bitstreams as bytes: access units out of H.264 and HEVC streams, SEI messages, IVF, and what Encode() returns."""

from __future__ import annotations

import collections
import dataclasses
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

import tricodec

from ._calls import PyNvVCException
from ._enums import SEI_TYPE

_START_CODE = b"\x00\x00\x01"

# nal_unit_type, ITU-T H.264 table 7-1 and H.265 table 7-1.
_H264_SLICES = frozenset((1, 2, 5))
_H264_BEFORE_PICTURE = frozenset((6, 7, 8, 9, 14, 15, 16, 17, 18))
_HEVC_LAST_SLICE = 31
_HEVC_BEFORE_PICTURE = frozenset((*range(32, 36), 39, *range(41, 45), *range(48, 56)))


@dataclasses.dataclass(frozen=True, slots=True)
class AccessUnit:
    """The bytes of one picture, with the times of the packet that contains its first byte."""

    data: bytes
    pts: int
    dts: int
    duration: int


class AccessUnitSplitter:
    """Turns pieces of an H.264 or HEVC byte stream, cut anywhere, into access units.

    Programs that receive video over a network pass pieces of any size: a NAL unit, a part of a picture, many pictures.
    The decoder needs one access unit at a time. No mark ends an access unit, so it is complete when the next one begins
    or the stream ends: a frame comes one packet later than its data.

    Args:
        hevc: whether the stream is HEVC; else it is H.264.
    """

    def __init__(self, *, hevc: bool) -> None:
        self._hevc = hevc
        self.clear()

    def clear(self) -> None:
        """Drops the data that are held back."""
        self._data = bytearray()
        self._scanned = 0  # every start code before this position has been handled
        self._has_picture = False
        self._times: list[tuple[int, tuple[int, int, int]]] = []  # (position in _data, pts dts duration)

    def push(self, data: memoryview, pts: int, dts: int, duration: int) -> list[AccessUnit]:
        """Adds the next piece of the stream and returns the access units that it completes."""
        self._times.append((len(self._data), (pts, dts, duration)))
        self._data += data
        units = []
        while (boundary := self._next_boundary()) is not None:
            units.append(self._take(boundary))
        # A stream that never starts another picture must not fill memory.
        most = tricodec.get_limits().max_packet_bytes
        if len(self._data) > most:
            self.clear()
            message = (
                f"no picture starts in limits.max_packet_bytes = {most} bytes: this is not an H.264 or HEVC byte stream"
            )
            raise PyNvVCException(message)
        return units

    def flush(self) -> list[AccessUnit]:
        """The data that are held back, as the last access unit."""
        units = [self._take(len(self._data))] if self._data else []
        self.clear()
        return units

    def _next_boundary(self) -> int | None:
        """The end of the first access unit, or None if the next one has not begun."""
        header = 2 if self._hevc else 1
        while True:
            start = self._data.find(_START_CODE, self._scanned)
            if start < 0:
                self._scanned = max(self._scanned, len(self._data) - 2)
                return None
            unit = start + 3
            if unit + header >= len(self._data):  # the byte after the header marks a picture's first slice
                self._scanned = start
                return None
            is_slice, begins = self._classify(unit)
            if begins and self._has_picture:
                self._has_picture = False
                self._scanned = start
                # A fourth byte of the start code belongs to the unit that it starts.
                return start - 1 if start > 0 and self._data[start - 1] == 0 else start
            self._has_picture = self._has_picture or is_slice
            self._scanned = unit

    def _classify(self, unit: int) -> tuple[bool, bool]:
        """(is a slice, may begin an access unit) for the NAL unit with its header at ``unit``."""
        if self._hevc:
            kind = self._data[unit] >> 1 & 63
            if kind <= _HEVC_LAST_SLICE:
                first_slice = self._data[unit + 2] & 0x80 != 0
                base_layer = (self._data[unit] & 1, self._data[unit + 1] >> 3) == (0, 0)
                return True, first_slice and base_layer
            return False, kind in _HEVC_BEFORE_PICTURE
        kind = self._data[unit] & 31
        if kind in _H264_SLICES:
            # first_mb_in_slice is 0, which ue(v) writes as a single 1 bit. (Types 3 and 4 follow a 2.)
            return True, self._data[unit + 1] & 0x80 != 0
        return False, kind in _H264_BEFORE_PICTURE

    def _take(self, end: int) -> AccessUnit:
        # The unit has the times of the packet in which it begins.
        number = max((i for i, (position, _) in enumerate(self._times) if position <= 0), default=0)
        pts, dts, duration = self._times[number][1] if self._times else (0, 0, 0)
        unit = AccessUnit(bytes(memoryview(self._data)[:end]), pts, dts, duration)
        del self._data[:end]
        self._scanned -= end
        self._times = [(position - end, times) for position, times in self._times[number:]]
        return unit


Message = tuple[dict[str, int], list[int]]
"""``{"sei_type", "sei_uncompressed"}`` and the bytes."""

_CLOCK_BYTES = 20
_MAX_CLOCKS = 3
_TIME_CODE_BYTES = 64


class _Bits:
    """Bits of a payload, most significant first. Past the end there are zeros."""

    def __init__(self, data: bytes) -> None:
        self._value, self._left = int.from_bytes(data, "big"), 8 * len(data)

    def take(self, count: int) -> int:
        self._left -= count
        if self._left < 0:
            return 0
        return self._value >> self._left & ((1 << count) - 1)


def _clock(bits: _Bits) -> bytes:
    """One time stamp of HEVC's time code (H.265, D.2.27)."""
    if not bits.take(1):
        return bytes(_CLOCK_BYTES)
    units_field_based, counting_type = bits.take(1), bits.take(5)
    full, discontinuity, dropped = bits.take(1), bits.take(1), bits.take(1)
    frames = bits.take(9)
    seconds = minutes = hours = 0
    # A flag before each part marks whether it is present; a full time stamp has all parts.
    has_seconds = full or bits.take(1)
    seconds = bits.take(6) if has_seconds else 0
    has_minutes = has_seconds and (full or bits.take(1))
    minutes = bits.take(6) if has_minutes else 0
    has_hours = has_minutes and (full or bits.take(1))
    hours = bits.take(5) if has_hours else 0
    offset_length = bits.take(5)
    offset = bits.take(offset_length)
    if offset_length > 0 and offset >> (offset_length - 1):
        offset -= 1 << offset_length
    return struct.pack(
        "<iH14B", offset, frames, 1, units_field_based, counting_type, full, discontinuity, dropped,
        seconds, minutes, hours, bool(has_seconds), bool(has_minutes), bool(has_hours), offset_length, 0,
    )  # fmt: skip


def _time_code(payload: bytes) -> bytes:
    bits = _Bits(payload)
    count = min(bits.take(2), _MAX_CLOCKS)
    clocks = b"".join(_clock(bits) for _ in range(count)).ljust(_MAX_CLOCKS * _CLOCK_BYTES, b"\0")
    return (clocks + bytes([count])).ljust(_TIME_CODE_BYTES, b"\0")


def _mastering_display(payload: bytes) -> bytes:
    """Reorders pairs of x and y into all x before all y."""
    x0, y0, x1, y1, x2, y2, white_x, white_y, most, least = struct.unpack(">8H2I", payload[:24])
    return struct.pack("<8H2I", x0, x1, x2, y0, y1, y2, white_x, white_y, most, least)


def _light_level(payload: bytes) -> bytes:
    return struct.pack("<2HI", *struct.unpack(">2H", payload[:4]), 0)


_STRUCTURES: dict[int, tuple[int, Callable[[bytes], bytes]]] = {  # by type: least size in bytes, function
    SEI_TYPE.TIME_CODE.value: (1, _time_code),
    SEI_TYPE.MASTERING_DISPLAY_COLOR_VOLUME.value: (24, _mastering_display),
    SEI_TYPE.CONTENT_LIGHT_LEVEL_INFO.value: (4, _light_level),
    SEI_TYPE.ALTERNATIVE_TRANSFER_CHARACTERISTICS.value: (1, lambda payload: payload[:1]),
}


def message_of(kind: int, payload: bytes) -> Message:
    """A message as programs get it: as a little-endian structure if its type has one."""
    fewest, structure = _STRUCTURES.get(kind, (0, None))
    if structure is None or len(payload) < fewest:
        return {"sei_type": kind, "sei_uncompressed": 0}, list(payload)
    return {"sei_type": kind, "sei_uncompressed": 1}, list(structure(payload))


class SeiCollector:
    """Keeps the messages of packets until the decoder returns their pictures. Thread safety: none."""

    _MOST_WAITING = 1024  # packets; a picture that is later than that is lost

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._waiting: collections.OrderedDict[int, list[Message]] = collections.OrderedDict()
        self._next_tag = 0

    def push(self, data: Any) -> int:
        """The tag with which the packet is decoded."""
        tag = self._next_tag
        self._next_tag += 1
        found = [message_of(kind, payload) for kind, payload in tricodec.video.sei_messages(data, self._codec)]
        if found:
            self._waiting[tag] = found
            if len(self._waiting) > self._MOST_WAITING:
                self._waiting.popitem(last=False)
        return tag

    def pop(self, tag: int) -> list[Message]:
        """The messages of the packet with this tag."""
        return self._waiting.pop(tag, [])


def _escaped(payload: bytes) -> bytes:
    """The payload with emulation prevention, so that it contains no start code (H.264 7.4.1.1)."""
    out = bytearray()
    zeros = 0
    for byte in payload:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)


def _sized(number: int) -> bytes:
    return b"\xff" * (number // 255) + bytes([number % 255])


def sei_unit(codec: str, messages: Sequence[tuple[Mapping[str, int], Sequence[int]]]) -> bytes:
    """SEI messages as one NAL unit with its start code, for AV1 as metadata OBUs.

    Args:
        codec: "h264", "hevc" or "av1".
        messages: for each a dict with "sei_type" (AV1: the metadata type), and the payload's bytes as integers.

    Raises:
        ValueError: a message is no pair, has no type, or has a payload that is no sequence of integers from 0 to 255.
    """
    body = bytearray()
    for each in messages:
        try:
            facts, payload = each
            kind, data = bytes([int(facts["sei_type"])])[0], bytes(iter(payload))
        except (KeyError, TypeError, ValueError):
            message = (
                f"an SEI message is {each!r}; it must be a pair of a dict with 'sei_type' and the payload as bytes or "
                "integers from 0 to 255: ({'sei_type': 5}, payload)"
            )
            raise ValueError(message) from None
        if codec == "av1":
            content = bytes([kind]) + data + b"\x80"
            # type 5 (metadata), with a size, which is LEB128
            body += b"\x2a" + _leb128(len(content)) + content
        else:
            body += _sized(kind) + _sized(len(data)) + data
    if codec == "av1":
        return bytes(body)
    head = b"\x06" if codec == "h264" else b"\x4e\x01"  # SEI, prefix SEI
    return b"\x00\x00\x00\x01" + head + _escaped(bytes(body) + b"\x80")


def _leb128(number: int) -> bytes:
    out = bytearray()
    while True:
        out.append((number & 0x7F) | (0x80 if number > 0x7F else 0))
        number >>= 7
        if number == 0:
            return bytes(out)


def _units(data: bytes) -> Iterator[tuple[int, int]]:
    """(position of the start code, position of the first byte after it) of each NAL unit."""
    at = data.find(b"\x00\x00\x01")
    while at >= 0:
        start = at - 1 if at > 0 and data[at - 1] == 0 else at
        yield start, at + 3
        at = data.find(b"\x00\x00\x01", at + 3)


def insert_before_picture(codec: str, data: bytes, unit: bytes) -> bytes:
    """The packet with a unit between its headers and its first slice; for AV1 after the sequence header."""
    if codec == "av1":
        return _insert_obu(data, unit)
    for start, first in _units(data):
        kind = data[first] & 0x1F if codec == "h264" else (data[first] >> 1) & 0x3F
        if (1 <= kind <= 5) if codec == "h264" else kind < 32:
            return data[:start] + unit + data[start:]
    return data + unit


def _insert_obu(data: bytes, unit: bytes) -> bytes:
    at = 0
    while at < len(data):
        kind = (data[at] >> 3) & 15
        if kind not in (1, 2):  # sequence header, temporal delimiter
            break
        size, shift, position = 0, 0, at + 1 + ((data[at] >> 2) & 1)
        while True:
            byte = data[position]
            size |= (byte & 0x7F) << shift
            position, shift = position + 1, shift + 7
            if byte < 0x80:
                break
        at = position + size
    return data[:at] + unit + data[at:]


class EncodedBitstream(bytes):
    """The packets of one call: the bytes of all of them as a buffer, the packets as a sequence.

    ``bytearray(x)``, ``bytes(x)``, ``file.write(x)`` and ``b"".join([x])`` use the bytes. Iteration, ``len(x)``,
    ``x[i]`` and ``bool(x)`` use the packets: dicts of ``data`` (bytes), ``timestamp`` (int) and ``picture_type`` (int).
    """

    _packets: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, packets: Iterable[dict[str, Any]]) -> EncodedBitstream:
        """Made of packets in decoding order."""
        kept = tuple(packets)
        self = super().__new__(cls, b"".join(packet["data"] for packet in kept))
        self._packets = kept
        return self

    @property
    def nbytes(self) -> int:
        """Size of all packets in bytes."""
        return bytes.__len__(self)

    def tobytes(self) -> bytes:
        """The bytes as a plain ``bytes``."""
        return bytes(memoryview(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._packets)

    def __len__(self) -> int:
        return len(self._packets)

    def __bool__(self) -> bool:
        return bool(self._packets)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        return self._packets[index]

    def __repr__(self) -> str:
        return f"<EncodedBitstream of {len(self._packets)} packets, {self.nbytes} bytes>"

    __hash__ = bytes.__hash__

    def __eq__(self, other: object) -> bool:
        return bytes.__eq__(self, other) is True if isinstance(other, (bytes, bytearray)) else NotImplemented


def ivf_header(codec_tag: bytes, width: int, height: int, rate: tuple[int, int]) -> bytes:
    """The head of an IVF file with a number of frames that is not known yet."""
    return struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, codec_tag, width, height, rate[0], rate[1], 0xFFFF, 0)


def ivf_frame(data: bytes, timestamp: int) -> bytes:
    """One frame of an IVF file."""
    return struct.pack("<IQ", len(data), timestamp) + data


def patch_ivf_frame_count(buffer: Any, frame_count: int) -> bool:
    """Writes the number of frames into the head of an IVF file.

    Args:
        buffer: a writable buffer with the first 32 bytes of the file at its start.
        frame_count: the number of frames.

    Returns:
        Whether it is an IVF file; nothing is written to others.

    Raises:
        BufferError: the buffer is read-only.
    """
    view = memoryview(buffer).cast("B")
    if len(view) < 32 or bytes(view[:4]) != b"DKIF":
        return False
    if view.readonly:
        message = "the buffer is read-only; pass a bytearray or a writable memory map"
        raise BufferError(message)
    struct.pack_into("<I", view, 24, frame_count)
    return True
