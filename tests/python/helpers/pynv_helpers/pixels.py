# SPDX-License-Identifier: Apache-2.0
"""Frames taken apart into planes: ours by the documented layouts, ffmpeg's by its pixel formats."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import PyNvVideoCodec as nvc

Planes = tuple[npt.NDArray[Any], ...]


@dataclasses.dataclass(frozen=True)
class PixFmt:
    """FFmpeg's name taken apart: what the planes of packed raw video are."""

    rgb: bool
    gray: bool
    across: int  # luma samples for one chroma sample
    down: int
    depth: int

    @classmethod
    def parse(cls, name: str) -> PixFmt:
        match = re.fullmatch(r"(yuvj?4\d\dp|gray|gbrp)(\d*)(le)?", name)
        assert match, name
        family, depth, _ = match.groups()
        across, down = {"420": (2, 2), "422": (2, 1), "440": (1, 2), "411": (4, 1)}.get(family[-4:-1], (1, 1))
        return cls(family == "gbrp", family == "gray", across, down, int(depth or 8))

    def planes(self, data: bytes, width: int, height: int) -> Planes:
        """Y, U, V (or G, B, R) of one packed frame; Y alone for gray."""
        samples = np.frombuffer(data, np.uint8 if self.depth == 8 else "<u2")
        sizes = [(height, width)]
        if not self.gray:
            sizes += [(-(-height // self.down), -(-width // self.across))] * 2
        planes, start = [], 0
        for rows, columns in sizes:
            planes.append(samples[start : start + rows * columns].reshape(rows, columns))
            start += rows * columns
        assert start == samples.size, (start, samples.size)
        return tuple(planes)


def planes_of(frame: nvc.DecodedFrame, width: int, height: int) -> Planes:
    """Y, U, V of one of our frames, by the table of the documented layouts; padding of odd widths is cut off."""
    array = np.asarray(frame)
    luma, rest = array[:height, :width], array[height:]
    if frame.format in (nvc.Pixel_Format.YUV444, nvc.Pixel_Format.YUV444_16Bit):
        return luma, rest[:height], rest[height:]
    pairs = rest.reshape(rest.shape[0], -1, 2)
    rows = (height + 1) // 2 if frame.format in (nvc.Pixel_Format.NV12, nvc.Pixel_Format.P016) else height
    assert pairs.shape == (rows, (width + 1) // 2, 2)
    return luma, pairs[..., 0], pairs[..., 1]


def nv12_bytes(data: bytes, width: int, height: int) -> bytes:
    """A packed yuv420p frame of ffmpeg's with its chroma interleaved; even sizes."""
    luma, u, v = PixFmt.parse("yuv420p").planes(data, width, height)
    return luma.tobytes() + np.stack([u, v], axis=-1).tobytes()
