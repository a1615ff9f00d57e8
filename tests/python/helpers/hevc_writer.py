# SPDX-License-Identifier: Apache-2.0
"""Writes HEVC streams of PCM coding units and of pictures that skip all their coding units.

Names of syntax elements are those of ITU-T H.265, 7.3. A coding tree block is one coding unit of 32x32 samples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pcm_stream import Bits, PcmStream, Planes

SIZE = 32
TRAIL_R, RASL_R, BLA, IDR, CRA = 1, 9, 16, 20, 21  # nal_unit_type
_P, _I = 1, 2  # slice_type
_QP = 26
# initValue of part_mode, and of cu_skip_flag by how many of the blocks to the left and above are skipped (9.3.2.2)
_PART_MODE, _SKIP = 184, (197, 185, 201)

# rangeTabLps and transIdxLps (9.3.4.3.2)
_RANGES = bytes.fromhex(
    "80b0d0f080a7c5e3809ebbd87b96b2cd748ea9c36f87a0b9698098af647a90a65f74899e5a6e829655687b8e516375874d5e6f80"
    "4959697a4555647442505f6e3e4c5a683b4856633845515e35414d59333e4955303b45502e38424c2b353f4829323b4527303841"
    "252d363e232b333b2129303820272e351e252b321d2329301b21272d1a1f252b181e2329171c2127161b2025151a1e2314181d21"
    "13171b1f12161a1e1115191c1014171b0f1316190e1215180e1114170d1013160c0f12150c0e11140b0e10130b0d0f120a0c0f11"
    "0a0c0e10090b0d0f090b0c0e080a0c0e08090b0d07090b0c07090a0c07080a0b0608090b0607090a0607080902020202"
)
_AFTER_LPS = bytes.fromhex(
    "000001020204040506070809090b0b0c0d0d0f0f10101212131315151616171818191a1a1b1b1c1d1d1e1e1e1f20202121212222"
    "23232324242425252526263f"
)


class _Cabac:
    """The arithmetic encoder of 9.3.5; contexts are known by their initValue."""

    def __init__(self) -> None:
        self.bits = Bits()
        self.contexts: dict[int, list[int]] = {}
        self.restart()

    def restart(self) -> None:
        """Begins the arithmetic code, as after PCM samples."""
        self._low, self._range, self._outstanding, self._first = 0, 510, 0, True

    def encode(self, context: int, value: int) -> None:
        """Writes a bin with a context."""
        if context not in self.contexts:
            state = min(max(((context >> 4) * 5 - 45) * _QP // 16 + ((context & 15) << 3) - 16, 1), 126)
            self.contexts[context] = [state - 64, 1] if state > 63 else [63 - state, 0]
        state, likely = self.contexts[context]
        lps = _RANGES[4 * state + (self._range >> 6 & 3)]
        self._range -= lps
        if value != likely:
            self._low, self._range = self._low + self._range, lps
            self.contexts[context] = [_AFTER_LPS[state], likely ^ (state == 0)]
        else:
            self.contexts[context][0] = min(state + 1, 62)
        self._renormalize()

    def terminate(self, value: int) -> None:
        """Writes a bin that may end the code; after a one come zeros to the next byte."""
        self._range -= 2
        if value:
            self._low, self._range = self._low + self._range, 2
        self._renormalize()
        if value:
            self._put(self._low >> 9 & 1)
            self.bits.u(2, self._low >> 7 & 3 | 1).align()
            self.restart()

    def _renormalize(self) -> None:
        while self._range < 256:
            if self._low < 256:
                self._put(0)
            elif self._low >= 512:
                self._low -= 512
                self._put(1)
            else:
                self._low -= 256
                self._outstanding += 1
            self._range, self._low = self._range << 1, self._low << 1

    def _put(self, bit: int) -> None:
        if not self._first:
            self.bits.u(1, bit)
        self._first = False
        self.bits.parts.append(str(1 - bit) * self._outstanding)
        self._outstanding = 0


@dataclasses.dataclass(frozen=True)
class Picture:
    """How a picture is coded.

    Attributes:
        poc: its place in the order of presentation.
        kind: nal_unit_type.
        before: poc of the short-term pictures that it may refer to, all of them before it; the nearest first.
        long_term: poc of a long-term picture that it may refer to.
        segments: the first addresses of the slice segments after the first one, in tile scan; negative if dependent.
        hidden: whether pic_output_flag is 0.
    """

    poc: int = 0
    kind: int = TRAIL_R
    before: Sequence[int] = ()
    long_term: int | None = None
    segments: Sequence[int] = ()
    hidden: bool = False


@dataclasses.dataclass
class HevcStream(PcmStream):
    """A stream and the parameters of its parameter sets."""

    width: int = 160  # as much as NVDEC needs
    height: int = 160
    reorder: int = 0
    columns: tuple[int, ...] = ()  # widths of tiles in coding tree blocks
    rows: tuple[int, ...] = ()
    wavefront: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.across, self.down = self.width // SIZE, self.height // SIZE
        self._columns, self._rows = self.columns or (self.across,), self.rows or (self.down,)
        self._tiled = len(self._columns) * len(self._rows) > 1
        self._write_parameter_sets()

    def _unit(self, bits: Bits, kind: int) -> None:
        self.data += b"\0\0\0\1" + bytes([kind << 1, 1]) + bits.payload()

    def _profile(self, bits: Bits) -> Bits:
        profile = 4 if self.chroma != 1 or self.depth > 10 else 2 if self.depth > 8 else 1
        bits.u(3, 0).u(5, profile).u(32, 1 << 31 - profile).u(4, 0b1001)
        # The constraints of the range extensions' profiles (A.3.5): at most 12 bits, 4:4:4
        return bits.u(44, (0b1 << 43 if profile == 4 else 0)).u(8, 120)

    def _write_parameter_sets(self) -> None:
        waiting = (5, self.reorder, 0)  # of the decoded picture buffer
        vps = self._profile(Bits().u(4, 0).u(2, 3).u(9, 0).u(1, 1).u(16, 0xFFFF))
        self._unit(vps.u(1, 1).ue(*waiting).u(6, 0).ue(0).u(2, 0).trailing(), 32)
        sps = self._profile(Bits().u(7, 0).u(1, 1)).ue(0, self.chroma).u(self.chroma == 3, 0)
        sps.ue(self.width, self.height).u(1, any(self.crop)).ue(*(self.crop if any(self.crop) else ()))
        sps.ue(self.depth - 8, self.depth - 8, 4).u(1, 1).ue(*waiting)  # eight bits of slice_pic_order_cnt_lsb
        sps.ue(2, 0, 0, 3, 0, 0).u(3, 0).u(1, 1).u(4, self.depth - 1).u(4, self.depth - 1).ue(2, 0).u(1, 1)
        self._unit(sps.ue(0).u(1, 1).ue(0).u(4, 0).trailing(), 33)
        pps = Bits().ue(0, 0).u(1, 1).u(1, 1).u(5, 0).ue(0, 0).se(0).u(3, 0).se(0, 0).u(4, 0)
        pps.u(1, self._tiled).u(1, self.wavefront)
        if self._tiled:
            pps.ue(len(self._columns) - 1, len(self._rows) - 1).u(1, 0)
            pps.ue(*(width - 1 for width in self._columns[:-1]), *(height - 1 for height in self._rows[:-1])).u(1, 0)
        self._unit(pps.u(1, 0).u(3, 0b101).u(2, 0).ue(0).u(2, 0).trailing(), 34)

    def _header(self, address: int, dependent: bool, slice_type: int, picture: Picture, entries: list[int]) -> Bits:
        header = Bits().u(1, address == 0).u(picture.kind >= BLA, 0).ue(0)
        if address:
            header.u(1, dependent).u((self.across * self.down - 1).bit_length(), address)
        if not dependent:
            header.ue(slice_type).u(1, not picture.hidden)
            if picture.kind != IDR:
                header.u(8, picture.poc % 256).u(1, 0).ue(len(picture.before), 0)
                for nearer, poc in zip((picture.poc, *picture.before), picture.before, strict=False):
                    header.ue(nearer - poc - 1).u(1, 1)
                header.ue(picture.long_term is not None)
                if picture.long_term is not None:
                    header.u(8, picture.long_term % 256).u(1, 1).u(1, 0)
            if slice_type == _P:
                header.u(1, 0).ue(4)
            header.se(0)
        if self._tiled or self.wavefront:
            header.ue(len(entries))
            if entries:
                header.ue(31)
                for size in entries:
                    header.u(32, size - 1)
        return header.trailing()

    def _scan(self) -> list[tuple[int, int, bool, bool]]:
        """The blocks in the order of the stream: column, row, and whether a tile or a row of one begins there."""
        blocks = []
        top = 0
        for height in self._rows:
            left = 0
            for width in self._columns:
                blocks += [
                    (x, y, (x, y) == (left, top), x == left)
                    for y in range(top, top + height)
                    for x in range(left, left + width)
                ]
                left += width
            top += height
        return blocks

    def write(self, picture: Picture, planes: Planes | None = None) -> None:
        """Writes a picture, or one that repeats the first picture that it may refer to."""
        scan = self._scan()
        begins = [0, *map(abs, picture.segments), len(scan)]
        dependents = [False, *(begin < 0 for begin in picture.segments)]
        saved: dict[int, list[int]] = {}
        upper: dict[int, list[int]] = {}
        owners: dict[tuple[int, int], tuple[int, int]] = {}  # the slice and the tile of each block so far
        owner = (0, 0)
        for begin, end, dependent in zip(begins, begins[1:], dependents, strict=False):
            cabac, parts = _Cabac(), []
            if dependent:
                cabac.contexts = saved
            else:
                owner = (begin, owner[1])
            for number in range(begin, end):
                x, y, tile_begins, row_begins = scan[number]
                if tile_begins:
                    cabac.contexts, owner = {}, (owner[0], number)
                if self.wavefront and row_begins and number:
                    synchronized = owners.get((x + 1, y - 1)) == owner
                    cabac.contexts = {context: list(state) for context, state in upper.items()} if synchronized else {}
                owners[x, y] = owner
                if planes is None:
                    cabac.encode(_SKIP[sum(owners.get(at) == owner for at in ((x - 1, y), (x, y - 1)))], 1)
                else:
                    cabac.encode(_PART_MODE, 1)
                    cabac.terminate(1)
                    cabac.bits.parts.append(self.block(planes, x * SIZE, y * SIZE, SIZE))
                if self.wavefront and x == 1:
                    upper = {context: list(state) for context, state in cabac.contexts.items()}
                cabac.terminate(number == end - 1)
                if number < end - 1 and (scan[number + 1][2] or (self.wavefront and scan[number + 1][3])):
                    cabac.terminate(1)
                    parts.append(cabac.bits)
                    cabac.bits = Bits()
            saved = cabac.contexts
            sizes, body = [], Bits()
            for part in parts:
                body.parts += part.parts
                sizes.append(len(body.payload()) - sum(sizes))
            body.parts += cabac.bits.parts
            x, y = scan[begin][:2]
            header = self._header(y * self.across + x, dependent, _I if planes else _P, picture, sizes)
            header.parts += body.parts
            self._unit(header, picture.kind)
