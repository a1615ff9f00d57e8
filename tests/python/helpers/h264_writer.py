# SPDX-License-Identifier: Apache-2.0
"""Writes H.264 streams of I_PCM macroblocks and of pictures that skip all their macroblocks.

Names of syntax elements are those of ITU-T H.264, 7.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
from pcm_stream import Bits, PcmStream, Planes

_P, _I = 5, 7  # slice_type
_I_PCM = 25  # mb_type


@dataclasses.dataclass(frozen=True)
class Picture:
    """How a picture is coded.

    Attributes:
        frame_num: the syntax element, before it wraps.
        poc: pic_order_cnt_lsb, before it wraps.
        idr: whether it is an IDR picture.
        field: "top" or "bottom"; empty for a frame.
        slices: the addresses of each slice's macroblocks (pairs in MBAFF frames), in the order of the stream.
        redundant: redundant_pic_cnt.
        reference: whether others may refer to it.
        long_term: keeps the picture as the long-term picture of that number.
        shows_long_term: a skipped picture repeats the long-term picture of that number.
        num_active: how many pictures its list has.
        shows_later: it repeats the one so many places after the first instead.
        forgets: pictures of which frame_num is so much lower are no references any more.
        recovers: it is an open key frame, if it is not an IDR picture.
    """

    frame_num: int = 0
    poc: int = 0
    idr: bool = False
    field: str = ""
    slices: Sequence[Iterable[int]] = ()
    redundant: int = 0
    reference: bool = True
    long_term: int | None = None
    shows_long_term: int | None = None
    num_active: int = 1
    shows_later: int = 0
    forgets: Sequence[int] = ()
    recovers: bool = False


@dataclasses.dataclass
class H264Stream(PcmStream):
    """A stream and the parameters of its parameter sets."""

    interlaced: bool = False
    mbaff: bool = False
    poc_type: int = 0
    gaps: bool = False
    redundant: bool = False
    num_ref_frames: int = 2
    reorder: int = 0
    profile: int = 100
    slice_groups: tuple[int, ...] = (0,)  # num_slice_groups_minus1 and what follows it, all ue(v)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.across, self.down = self.width // 16, self.height // 16
        self._write_parameter_sets()

    def _unit(self, bits: Bits, nal_ref_idc: int, nal_unit_type: int) -> None:
        self.data += b"\0\0\0\1" + bytes([nal_ref_idc << 5 | nal_unit_type]) + bits.payload()

    def _write_parameter_sets(self) -> None:
        sps = Bits().u(8, self.profile).u(8, 0).u(8, 40).ue(0)
        if self.profile >= 100:
            sps.ue(self.chroma).u(self.chroma == 3, 0).ue(self.depth - 8, self.depth - 8).u(2, 0)
        sps.ue(0, self.poc_type)  # four bits of frame_num
        if self.poc_type == 0:
            sps.ue(4)  # eight bits of pic_order_cnt_lsb
        elif self.poc_type == 1:
            sps.u(1, 1).se(0, 1).ue(1).se(2)  # each frame is two after the one before
        sps.ue(self.num_ref_frames).u(1, self.gaps).ue(self.across - 1)
        sps.ue(self.down // (1 + self.interlaced) - 1).u(1, not self.interlaced).u(self.interlaced, self.mbaff)
        sps.u(1, 1).u(1, any(self.crop))
        if any(self.crop):
            left, right, top, bottom = self.crop
            sps.ue(left, right, top // (1 + self.interlaced), bottom // (1 + self.interlaced))
        # Video usability information (annex E): nothing but how many pictures wait for others.
        sps.u(1, 1).u(9, 1).u(1, 1).ue(0, 0, 16, 16, self.reorder, max(self.num_ref_frames, self.reorder))
        self._unit(sps.trailing(), 3, 7)
        pps = Bits().ue(0, 0).u(2, 0).ue(*self.slice_groups).ue(0, 0).u(3, 0).se(0, 0, 0)
        self._unit(pps.u(2, 2).u(1, self.redundant).trailing(), 3, 8)

    def _header(self, first: int, slice_type: int, picture: Picture) -> Bits:
        header = Bits().ue(first, slice_type, 0).u(4, picture.frame_num % 16)
        if self.interlaced:
            header.u(1, picture.field != "").u(picture.field != "", picture.field == "bottom")
        if picture.idr:
            header.ue(0)
        if self.poc_type == 0:
            header.u(8, picture.poc % 256)
        if self.redundant:
            header.ue(picture.redundant)
        if slice_type == _P:
            header.u(1, picture.num_active > 1).ue(*[picture.num_active - 1] * (picture.num_active > 1))
            header.u(1, picture.shows_long_term is not None)
            if picture.shows_long_term is not None:
                header.ue(2, picture.shows_long_term, 3)
        if picture.idr:
            header.u(1, 0).u(1, picture.long_term is not None)
        elif picture.reference:
            commands = [number for each in picture.forgets for number in (1, each - 1)]
            if picture.long_term is not None:  # so many long-term pictures, this one among them
                commands += [4, picture.long_term + 1, 6, picture.long_term]
            header.u(1, bool(commands)).ue(*commands, *[0] * bool(commands))
        return header.se(0).ue(1)

    def write(self, planes: Planes, picture: Picture) -> None:
        """Writes a frame, or its lines of one parity as a field."""
        lines = [plane[picture.field == "bottom" :: 2] for plane in planes] if picture.field else planes
        pairs = self.mbaff and not picture.field
        self._write_recovery_point(picture)
        total = self.across * self.down // (2 if pairs or picture.field else 1)
        for addresses in map(list, picture.slices or [range(total)]):
            bits = self._header(addresses[0], _I, picture)
            for address in addresses:
                x, y = address % self.across * 16, address // self.across * 16
                if not pairs:
                    bits.ue(_I_PCM).align().parts.append(self.block(lines, x, y, 16))
                    continue
                as_fields = address % 3 != 0
                bits.u(1, as_fields)
                for half in range(2):
                    at = 2 * y + (half if as_fields else 16 * half)
                    bits.ue(_I_PCM).align().parts.append(self.block(lines, x, at, 16, 1 + as_fields))
            self._unit(bits.trailing(), 2 if picture.reference else 0, 5 if picture.idr else 1)

    def _write_recovery_point(self, picture: Picture) -> None:
        if picture.recovers:  # at once, and exact
            self._unit(Bits().u(24, 0x0601C4).trailing(), 0, 6)

    def skip(self, picture: Picture) -> None:
        """Writes a picture without residuals and motion: it repeats the first picture of its list."""
        self._write_recovery_point(picture)
        total = self.across * self.down // (2 if picture.field else 1)
        bits = self._header(0, _P, picture)
        for _ in range(total if picture.shows_later else 0):
            bits.ue(0, 0)  # no skipped block, its kind
            if picture.num_active == 2:
                bits.u(1, 0)
            else:
                bits.ue(picture.shows_later)
            bits.se(0, 0).ue(0)  # motion, residuals
        if not picture.shows_later:
            bits.ue(total)
        self._unit(bits.trailing(), 2, 1)


def small(count: int) -> bytes:
    """So many pictures of 64x64, of which all repeat the first."""
    stream = H264Stream(64, 64)
    stream.write(stream.noise(), Picture(idr=True))
    for number in range(1, count):
        stream.skip(Picture(frame_num=number, poc=2 * number))
    return bytes(stream.data)


def first_block(width: int, height: int) -> H264Stream:
    """The first block of a picture: a decoder begins the whole picture with it."""
    stream = H264Stream(width, height)
    stream.write([np.zeros((side, side), np.uint8) for side in (16, 8, 8)], Picture(idr=True, slices=[range(1)]))
    return stream
