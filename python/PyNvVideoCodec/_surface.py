# SPDX-License-Identifier: Apache-2.0
"""Decoded pictures into packed surfaces: memory that belongs to one frame alone and lives as long as it."""

from __future__ import annotations

import numpy as np
import tricodec

from ._enums import OutputColorType
from ._layout import FrameLayout, SampleFormat, layout_of, sample_format
from ._planes import Samples, chroma_of, luma_of, repeated
from ._rgb import to_rgb


def make_surface(frame: tricodec.Frame, color: OutputColorType) -> tuple[FrameLayout, int, object]:
    """Packs a frame.

    Returns:
        The layout, the address of the first byte, and the object that keeps the memory valid.

    Raises:
        PyNvVCExceptionUnsupported: the frame's pixel format has no documented layout.
    """
    source = sample_format(frame.format)
    if color != OutputColorType.NATIVE:
        pixels = to_rgb(frame, source, color)
        return layout_of(pixels.pixel_format, frame.width, frame.height), pixels.array.ctypes.data, pixels.array
    layout = layout_of(source.target, frame.width, frame.height)
    if source.core_name and layout.width == frame.width:
        packed = frame.convert(source.core_name)
        planes = packed.planes
        address: int = planes[0].data_ptr
        expected = [address + plane.offset for plane in layout.planes]
        if [plane.data_ptr for plane in planes] == expected and planes[0].strides[0] == layout.planes[0].strides[0]:
            return layout, address, packed
    array = _pack(frame, source, layout)
    return layout, array.ctypes.data, array


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
