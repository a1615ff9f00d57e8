# SPDX-License-Identifier: Apache-2.0
"""Frames as 8-bit RGB, by the arithmetic that programs of this API know.

Differs from ``tricodec.Transform`` on purpose: each chroma sample covers its whole block (no interpolation), a stream
that names no matrix is BT.709 from 720 lines on and BT.601 below, and the result is truncated, not rounded.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import numpy.typing as npt
import tricodec

from ._enums import OutputColorType, Pixel_Format
from ._layout import SampleFormat
from ._planes import Samples, chroma_of, luma_of, repeated

# Red's and blue's part of luma, by the names of the matrices (ITU-T H.273, table 4).
_LUMA_WEIGHTS = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
    "bt2020c": (0.2627, 0.0593),
}
_HD_LINES = 720


@dataclasses.dataclass(frozen=True, slots=True)
class RgbPicture:
    """[H, W, 3] (RGB) or [3, H, W] (RGBP), uint8, C-contiguous."""

    pixel_format: Pixel_Format
    array: npt.NDArray[np.uint8]


@dataclasses.dataclass(frozen=True, slots=True)
class _Tables:
    """What each sample adds, by its value: luma to every channel, chroma to one or two."""

    luma: npt.NDArray[np.float32]
    red_v: npt.NDArray[np.float32]
    green_u: npt.NDArray[np.float32]
    green_v: npt.NDArray[np.float32]
    blue_u: npt.NDArray[np.float32]


@functools.lru_cache(maxsize=16)
def _tables(weights: tuple[float, float], full_range: bool, bits: int) -> _Tables:
    red, blue = weights
    green = 1 - red - blue
    values = np.arange(1 << bits, dtype=np.float64)
    unit = float(1 << (bits - 8))  # of an 8-bit step
    black, luma_gain, chroma_gain = (0.0, 1.0, 1.0) if full_range else (16.0, 255 / 219, 255 / 224)
    luma = (values / unit - black) * luma_gain
    chroma = (values / unit - 128.0) * chroma_gain
    return _Tables(
        luma.astype(np.float32),
        (chroma * (2 * (1 - red))).astype(np.float32),
        (chroma * (-2 * blue * (1 - blue) / green)).astype(np.float32),
        (chroma * (-2 * red * (1 - red) / green)).astype(np.float32),
        (chroma * (2 * (1 - blue))).astype(np.float32),
    )


def to_rgb(frame: tricodec.Frame, source: SampleFormat, color: OutputColorType) -> RgbPicture:
    """Converts a frame of any layout and depth; 8 bits come out."""
    planar = color == OutputColorType.RGBP
    size = (frame.height, frame.width)
    out = np.empty((3, *size) if planar else (*size, 3), np.uint8)
    channels = [out[i] if planar else out[..., i] for i in range(3)]
    picture = RgbPicture(Pixel_Format.RGBP if planar else Pixel_Format.RGB, out)
    if frame.format.startswith("gbr"):
        for channel, plane in zip(channels, (2, 0, 1), strict=True):
            channel[:] = np.asarray(frame.planes[plane]) >> (source.depth - 8)
        return picture
    tables = _tables(_weights(frame), frame.color.range == "full", source.depth)
    in_high_bits = source.depth > 8 and source.shift == 0
    down = 16 - source.depth if in_high_bits else 0
    luma = tables.luma[luma_of(frame) >> down]
    chroma = chroma_of(frame, source)
    if chroma is None:
        for channel in channels:
            _store(luma, channel)
        return picture
    u, v = (samples >> down for samples in chroma)
    rows, columns = -(-frame.height // u.shape[0]), -(-frame.width // u.shape[1])

    def whole(part: Samples) -> Samples:
        return repeated(part, rows, columns, size)

    _store(luma + whole(tables.red_v[v]), channels[0])
    _store(luma + whole(tables.green_u[u] + tables.green_v[v]), channels[1])
    _store(luma + whole(tables.blue_u[u]), channels[2])
    return picture


def _store(values: Samples, channel: Samples) -> None:
    np.clip(values, 0.0, 255.0, out=values)
    channel[:] = values.astype(np.uint8)  # truncates


def _weights(frame: tricodec.Frame) -> tuple[float, float]:
    named = _LUMA_WEIGHTS.get(frame.color.matrix)
    if named is not None:
        return named
    return _LUMA_WEIGHTS["bt709" if frame.height >= _HD_LINES else "bt470bg"]
