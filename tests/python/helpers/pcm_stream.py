# SPDX-License-Identifier: Apache-2.0
"""What the writers of H.264 and HEVC share: bits, NAL units and pictures of noise.

Their pictures are coded without prediction (PCM), so that every sample is known without a decoder. Noise shows a sample
in the wrong place.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import numpy.typing as npt

Planes = list[npt.NDArray[np.uint16]]

DIVISORS = {0: (1, 1), 1: (2, 2), 2: (2, 1), 3: (1, 1)}
"""Of chroma, across and down, by chroma_format_idc."""


class Bits:
    """The bits of a NAL unit or a part of one. The names of its methods are the descriptors of the standards."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def u(self, count: int, value: int) -> Bits:
        """`count` bits, the highest first."""
        self.parts.append(f"{int(value):0{int(count)}b}" if count else "")
        return self

    def ue(self, *values: int) -> Bits:
        """Exp-Golomb codes."""
        for value in values:
            code = f"{value + 1:b}"
            self.parts.append("0" * (len(code) - 1) + code)
        return self

    def se(self, *values: int) -> Bits:
        """Signed Exp-Golomb codes."""
        return self.ue(*(2 * value - 1 if value > 0 else -2 * value for value in values))

    def align(self) -> Bits:
        """Zeros to the next byte."""
        text = "".join(self.parts)
        self.parts = [text + "0" * (-len(text) % 8)]
        return self

    def trailing(self) -> Bits:
        """A one, then zeros to the next byte."""
        return self.u(1, 1).align()

    def payload(self) -> bytes:
        """The bytes, with a byte of 3 wherever they would look like a start code."""
        text = "".join(self.parts)
        assert len(text) % 8 == 0
        plain = int("1" + text, 2).to_bytes(len(text) // 8 + 1, "big")[1:]
        return re.sub(rb"\0\0(?=[\0-\3])", b"\0\0\3", plain)


@dataclasses.dataclass
class PcmStream:
    """A stream of pictures with known samples.

    `data` is the stream so far. `expected` has the packed frames that a decoder shows, in the order of presentation.
    """

    width: int = 96
    height: int = 96
    chroma: int = 1  # chroma_format_idc
    depth: int = 8
    crop: tuple[int, int, int, int] = (0, 0, 0, 0)  # left, right, top, bottom, in samples of chroma
    seed: int = 1
    data: bytearray = dataclasses.field(default_factory=bytearray)
    expected: list[bytes] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng(self.seed)
        self._codes = [f"{sample:0{self.depth}b}" for sample in range(1 << self.depth)]

    def noise(self) -> Planes:
        """A picture."""
        across, down = DIVISORS[self.chroma]
        sizes = [(self.height, self.width)] + [(self.height // down, self.width // across)] * 2
        return [self._generator.integers(0, 1 << self.depth, size, np.uint16) for size in sizes[: self.num_planes]]

    @property
    def num_planes(self) -> int:
        """One if there is luma only."""
        return 3 if self.chroma else 1

    def shows(self, planes: Planes, at: int | None = None) -> Planes:
        """Expects the picture as the next frame, or as frame `at`, and returns it."""
        packed = self.packed(planes)
        if at is None:
            self.expected.append(packed)
        else:
            self.expected += [b""] * (at + 1 - len(self.expected))
            self.expected[at] = packed
        return planes

    def packed(self, planes: Planes) -> bytes:
        """What Frame.pack() gives: cropped; samples of more than 8 bits as little-endian uint16."""
        left, right, top, bottom = self.crop
        shown = []
        for number, plane in enumerate(planes):
            x, y = DIVISORS[self.chroma] if number == 0 else (1, 1)
            part = plane[top * y : plane.shape[0] - bottom * y, left * x : plane.shape[1] - right * x]
            shown.append(part.astype("<u2" if self.depth > 8 else np.uint8).tobytes())
        return b"".join(shown)

    def block(self, planes: Planes, x: int, y: int, size: int, step: int = 1) -> str:
        """The samples of a block as bits, luma first; `x` and `y` are in luma, `step` rows from line to line."""
        text = []
        for number, plane in enumerate(planes):
            across, down = (1, 1) if number == 0 else DIVISORS[self.chroma]
            parity = y % step
            top = (y - parity) // down + parity
            part = plane[top : top + step * (size // down) : step, x // across : (x + size) // across]
            text.append("".join([self._codes[sample] for sample in part.ravel().tolist()]))
        return "".join(text)
