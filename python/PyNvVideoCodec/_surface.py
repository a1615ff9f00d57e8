# SPDX-License-Identifier: Apache-2.0
"""Decoded pictures into packed surfaces: memory that belongs to one frame alone and lives as long as it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tricodec

from ._enums import OutputColorType, Pixel_Format
from ._layout import FrameLayout, SampleFormat, layout_of, sample_format
from ._planes import Samples, chroma_of, luma_of, repeated
from ._rgb import to_rgb


class Surface(NamedTuple):
    """A packed picture.

    Attributes:
        layout: of the samples.
        address: of the first byte.
        owner: keeps the memory valid; the array of all samples if that is on a GPU.
    """

    layout: FrameLayout
    address: int
    owner: object


# How FFmpeg calls the layouts of packed pictures; three planes of full size are three planes, whatever they mean.
_CORE_FORMATS = {
    Pixel_Format.NV12: "nv12",
    Pixel_Format.P016: "p016le",
    Pixel_Format.NV16: "nv16",
    Pixel_Format.P216: "p216le",
    Pixel_Format.YUV444: "yuv444p",
    Pixel_Format.YUV444_16Bit: "yuv444p16le",
    Pixel_Format.RGB: "rgb24",
    Pixel_Format.RGBP: "yuv444p",
}


def make_surface(frame: tricodec.Frame, color: OutputColorType, device: str | None = None) -> Surface:
    """Packs a frame.

    Args:
        frame: decoded, anywhere.
        color: NATIVE, or a conversion to RGB.
        device: the GPU that the surface is to be on; None is host memory.

    Raises:
        PyNvVCExceptionUnsupported: the frame's pixel format has no documented layout.
    """
    source = sample_format(frame.format)
    if device is None:
        host = frame.cpu()
        # What comes from a GPU is the frame's own, and page-locked.
        if frame.device != "cpu" and color == OutputColorType.NATIVE:
            layout = layout_of(source.target, frame.width, frame.height)
            if frame.format in _SHARED and _lies_as(host, layout):
                return Surface(layout, host.planes[0].data_ptr, host)
        return _host_surface(host, source, color)
    if frame.device == device and color == OutputColorType.NATIVE:
        layout = layout_of(source.target, frame.width, frame.height)
        # NVDEC's own formats are the documented ones, but for odd widths.
        if _lies_as(frame, layout) and frame.format in _SHARED:
            return _device_surface(frame, layout)
    surface = _host_surface(frame.cpu(), source, color)
    if isinstance(surface.owner, tricodec.Frame):
        return _device_surface(surface.owner.to(device), surface.layout)
    packed = _as_frame(np.asarray(surface.owner), surface.layout)
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
        if _lies_as(packed, layout):
            return Surface(layout, packed.planes[0].data_ptr, packed)
    array = _pack(frame, source, layout)
    return Surface(layout, array.ctypes.data, array)


def _device_surface(frame: tricodec.Frame, layout: FrameLayout) -> Surface:
    array = frame.device_array(layout.shape)
    return Surface(layout, array.data_ptr, array)


def _lies_as(frame: tricodec.Frame, layout: FrameLayout) -> bool:
    """Whether the planes lie where the layout has them."""
    planes = frame.planes
    address: int = planes[0].data_ptr
    expected = [address + plane.offset for plane in layout.planes]
    return [plane.data_ptr for plane in planes] == expected and planes[0].strides[0] == layout.planes[0].strides[0]


def _as_frame(array: Samples, layout: FrameLayout) -> tricodec.Frame:
    """The samples of a packed picture as a frame of the core's, whatever its planes mean."""
    if layout.pixel_format is Pixel_Format.RGB:
        planes = [array]
    elif layout.pixel_format is Pixel_Format.RGBP:
        planes = list(array)
    elif len(layout.planes) == 2:
        rest = array[layout.height :]
        planes = [array[: layout.height], rest.reshape(rest.shape[0], -1, 2)]
    else:
        planes = [array[index * layout.height : (index + 1) * layout.height] for index in range(3)]
    return tricodec.Frame.from_planes(planes, _CORE_FORMATS[layout.pixel_format])


def _pack(frame: tricodec.Frame, source: SampleFormat, layout: FrameLayout) -> Samples:
    """The same for layouts that need samples repeated: odd widths, few chroma samples, none."""
    out: Samples = np.empty(layout.shape, np.uint8 if layout.itemsize == 1 else np.uint16)
    height = layout.height
    luma = out[:height]
    np.left_shift(luma_of(frame), source.shift, out=luma[:, : frame.width])
    luma[:, frame.width :] = luma[:, frame.width - 1 : frame.width]
    rest = out[height:]
    chroma = chroma_of(frame, source)
    if chroma is None:
        rest[:] = 1 << (8 * layout.itemsize - 1)
        return out
    for index, samples in enumerate(chroma):
        if len(layout.planes) == 2:
            target = rest.reshape(rest.shape[0], -1, 2)[..., index]
        else:
            target = rest[index * height : (index + 1) * height]
        np.left_shift(repeated(samples, *source.repeat, target.shape), source.shift, out=target)
    return out
