# SPDX-License-Identifier: Apache-2.0
"""H.264 and HEVC byte streams, cut anywhere, to whole access units.

Programs that receive video over a network hand over what arrived: a NAL unit, a picture, a piece of either, or many
pictures at once. The decoder takes one access unit at a time, so pieces are joined and split here. As no mark ends an
access unit, it is complete when the next one begins (or the stream ends): a frame comes out one packet later than it
went in.
"""

from __future__ import annotations

import dataclasses

import tricodec

from ._errors import PyNvVCException

_START_CODE = b"\x00\x00\x01"

# nal_unit_type, ITU-T H.264 table 7-1 and H.265 table 7-1.
_H264_SLICES = frozenset((1, 2, 5))
_H264_BEFORE_PICTURE = frozenset((6, 7, 8, 9, 14, 15, 16, 17, 18))
_HEVC_LAST_SLICE = 31
_HEVC_BEFORE_PICTURE = frozenset((*range(32, 36), 39, *range(41, 45), *range(48, 56)))


@dataclasses.dataclass(frozen=True, slots=True)
class AccessUnit:
    """The bytes of one picture and what the packet that its first byte came in said of it."""

    data: bytes
    pts: int
    dts: int
    duration: int


class AccessUnitSplitter:
    """Joins and splits the data of hand-made packets.

    Args:
        hevc: the stream is HEVC, not H.264.
    """

    def __init__(self, *, hevc: bool) -> None:
        self._hevc = hevc
        self.clear()

    def clear(self) -> None:
        """Forgets what is held back."""
        self._data = bytearray()
        self._scanned = 0  # no start code begins before this that has not been looked at
        self._has_picture = False
        self._times: list[tuple[int, tuple[int, int, int]]] = []  # (position in _data, pts dts duration)

    def push(self, data: memoryview, pts: int, dts: int, duration: int) -> list[AccessUnit]:
        """Adds the next stretch of the stream; returns the access units that it completes."""
        self._times.append((len(self._data), (pts, dts, duration)))
        self._data += data
        units = []
        while (boundary := self._next_boundary()) is not None:
            units.append(self._take(boundary))
        # A peer that never starts another picture must not fill memory.
        most = tricodec.get_limits().max_packet_bytes
        if len(self._data) > most:
            self.clear()
            message = (
                f"no picture starts in limits.max_packet_bytes = {most} bytes: this is no H.264 or HEVC byte stream"
            )
            raise PyNvVCException(message)
        return units

    def flush(self) -> list[AccessUnit]:
        """What is held back, as the last access unit."""
        units = [self._take(len(self._data))] if self._data else []
        self.clear()
        return units

    def _next_boundary(self) -> int | None:
        """Where the access unit at the front ends, if another one begins in what is there."""
        header = 2 if self._hevc else 1
        while True:
            start = self._data.find(_START_CODE, self._scanned)
            if start < 0:
                self._scanned = max(self._scanned, len(self._data) - 2)
                return None
            unit = start + 3
            if unit + header >= len(self._data):  # the byte behind the header tells a picture's first slice
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
        """(is a slice, may begin an access unit) for the NAL unit whose header is at ``unit``."""
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
        # The time stamp of the packet in which the unit begins.
        number = max((i for i, (position, _) in enumerate(self._times) if position <= 0), default=0)
        pts, dts, duration = self._times[number][1] if self._times else (0, 0, 0)
        unit = AccessUnit(bytes(memoryview(self._data)[:end]), pts, dts, duration)
        del self._data[:end]
        self._scanned -= end
        self._times = [(position - end, times) for position, times in self._times[number:]]
        return unit
