# SPDX-License-Identifier: Apache-2.0
"""Decoded pictures as packed surfaces: memory that belongs to one frame only; also converted to 8-bit RGB.

The conversion to RGB follows the arithmetic of the original and differs from ``tricodec.Transform``: a chroma sample
covers its whole block (no interpolation), a stream that names no matrix is BT.709 from 720 lines on and BT.601 below,
and the result is truncated, not rounded.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tricodec

from ._enums import OutputColorType, Pixel_Format
from ._layout import (
    FrameLayout,
    SampleFormat,
    Samples,
    as_frame,
    chroma_of,
    layout_of,
    lies_as,
    luma_of,
    pack,
    repeated,
    sample_format,
)


class Surface(NamedTuple):
    """A packed picture.

    Attributes:
        layout: layout of the samples.
        address: address of the first byte.
        owner: keeps the memory alive; on a GPU it is the array of all samples.
    """

    layout: FrameLayout
    address: int
    owner: object


def make_surface(frame: tricodec.Frame, color: OutputColorType, device: str | None = None) -> Surface:
    """Packs a frame.

    Args:
        frame: a decoded frame on any device.
        color: NATIVE, or a conversion to RGB.
        device: the GPU for the surface; None is host memory.

    Raises:
        PyNvVCExceptionUnsupported: the frame's pixel format has no documented layout.
    """
    source = sample_format(frame.format)
    if device is None:
        host = frame.cpu()
        # The copy from a GPU belongs to the frame and is page-locked.
        if frame.device != "cpu" and color == OutputColorType.NATIVE:
            layout = layout_of(source.target, frame.width, frame.height)
            if frame.format in _SHARED and lies_as(host, layout):
                return Surface(layout, host.planes[0].data_ptr, host)
        return _host_surface(host, source, color)
    if frame.device == device and color == OutputColorType.NATIVE:
        layout = layout_of(source.target, frame.width, frame.height)
        # NVDEC's formats are the documented ones, except for odd widths.
        if lies_as(frame, layout) and frame.format in _SHARED:
            return _device_surface(frame, layout)
    surface = _host_surface(frame.cpu(), source, color)
    if isinstance(surface.owner, tricodec.Frame):
        return _device_surface(surface.owner.to(device), surface.layout)
    packed = as_frame(np.asarray(surface.owner), surface.layout)
    return _device_surface(packed.to(device), surface.layout)


_SHARED = {"nv12", "p010le", "p012le", "p016le", "nv16", "p210le", "p216le", "yuv444p"} | {
    f"yuv444p{depth}" for depth in ("10msble", "12msble", "16le")
}


def _host_surface(frame: tricodec.Frame, source: SampleFormat, color: OutputColorType) -> Surface:
    if color != OutputColorType.NATIVE:
        pixels = to_rgb(frame, source, color)
        layout = layout_of(pixels.pixel_format, frame.width, frame.height)
        return Surface(layout, pixels.array.ctypes.data, pixels.array)
    layout = layout_of(source.target, frame.width, frame.height)
    if source.core_name and layout.width == frame.width:
        packed = frame.convert(source.core_name)
        if lies_as(packed, layout):
            return Surface(layout, packed.planes[0].data_ptr, packed)
    array = pack(frame, source, layout)
    return Surface(layout, array.ctypes.data, array)


def _device_surface(frame: tricodec.Frame, layout: FrameLayout) -> Surface:
    array = frame.device_array(layout.shape)
    return Surface(layout, array.data_ptr, array)


# The weights of red and blue in luma, by the names of the matrices (ITU-T H.273, table 4).
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
    """The contribution of a sample by its value: luma to every channel, chroma to one or two."""

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
    unit = float(1 << (bits - 8))  # an 8-bit step
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
    """Converts a frame of any layout and depth to 8-bit RGB."""
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
