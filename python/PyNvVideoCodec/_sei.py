# SPDX-License-Identifier: Apache-2.0
"""SEI messages of decoded pictures as getSEIMessage() gives them: some as C structures, not as they are coded."""

from __future__ import annotations

import collections
import struct
from collections.abc import Callable
from typing import Any

import tricodec

from ._enums import SEI_TYPE

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
    # Each part says whether the next one follows; a full time stamp has them all.
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
    """From pairs of x and y to all x before all y."""
    x0, y0, x1, y1, x2, y2, white_x, white_y, most, least = struct.unpack(">8H2I", payload[:24])
    return struct.pack("<8H2I", x0, x1, x2, y0, y1, y2, white_x, white_y, most, least)


def _light_level(payload: bytes) -> bytes:
    return struct.pack("<2HI", *struct.unpack(">2H", payload[:4]), 0)


_STRUCTURES: dict[int, tuple[int, Callable[[bytes], bytes]]] = {  # by type: fewest bytes, what makes the structure
    SEI_TYPE.TIME_CODE.value: (1, _time_code),
    SEI_TYPE.MASTERING_DISPLAY_COLOR_VOLUME.value: (24, _mastering_display),
    SEI_TYPE.CONTENT_LIGHT_LEVEL_INFO.value: (4, _light_level),
    SEI_TYPE.ALTERNATIVE_TRANSFER_CHARACTERISTICS.value: (1, lambda payload: payload[:1]),
}


def message_of(kind: int, payload: bytes) -> Message:
    """A message as programs get it: a little-endian structure where there is one for its type."""
    fewest, structure = _STRUCTURES.get(kind, (0, None))
    if structure is None or len(payload) < fewest:
        return {"sei_type": kind, "sei_uncompressed": 0}, list(payload)
    return {"sei_type": kind, "sei_uncompressed": 1}, list(structure(payload))


class SeiCollector:
    """Remembers packets' messages until the pictures that the packets give come out. Thread safety: none."""

    _MOST_WAITING = 1024  # packets; a picture that has not come after so many more is lost

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._waiting: collections.OrderedDict[int, list[Message]] = collections.OrderedDict()
        self._next_tag = 0

    def push(self, data: Any) -> int:
        """The tag to decode a packet under."""
        tag = self._next_tag
        self._next_tag += 1
        found = [message_of(kind, payload) for kind, payload in tricodec.sei_messages(data, self._codec)]
        if found:
            self._waiting[tag] = found
            if len(self._waiting) > self._MOST_WAITING:
                self._waiting.popitem(last=False)
        return tag

    def pop(self, tag: int) -> list[Message]:
        """The messages of the packet that gave a picture."""
        return self._waiting.pop(tag, [])
