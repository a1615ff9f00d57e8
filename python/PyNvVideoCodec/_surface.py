# SPDX-License-Identifier: Apache-2.0
"""Decoded pictures as packed surfaces: memory that belongs to one frame only; also converted to 8-bit RGB.

The conversion to RGB follows the arithmetic of the original and differs from ``tricodec.Transform``: a chroma sample
covers its whole block (no interpolation), a stream that names no matrix is BT.709 from 720 lines on and BT.601 below,
and the result is truncated, not rounded.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tricodec

from ._bitstream import Message
from ._enums import OutputColorType, Pixel_Format
from ._frame import DecodedFrame, make_frame
from ._layout import FrameLayout, SampleFormat, layout_of, sample_format
from ._packet import NO_TIMESTAMP


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


# FFmpeg's names for the layouts of packed pictures. Three planes of full size are yuv444p, whatever they mean.
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


def deliver(
    frame: tricodec.Frame,
    color: OutputColorType,
    device: str | None,
    stream: int,
    messages: list[Message] | None = None,
    *,
    has_statistics: bool = False,
) -> DecodedFrame:
    """A decoded frame as a DecodedFrame, complete on the default stream and on ``stream``; see `make_surface`."""
    layout, address, owner = make_surface(frame, color, device)
    if isinstance(owner, tricodec.DeviceArray):
        # Programs use the memory by its address, on one of these streams.
        owner.wait_on(None)
        if stream:
            owner.wait_on(stream)
    timestamp = NO_TIMESTAMP if frame.pts is None else frame.pts
    statistics = frame.block_statistics or b"" if has_statistics else None
    return make_frame(layout, address, owner, timestamp, stream, messages, frame.color, statistics)


def rgb_of(frame: DecodedFrame) -> DecodedFrame:
    """An NV12 frame as RGB in planes, on its device. Raises ValueError for other formats."""
    if frame.format is not Pixel_Format.NV12:
        message = f"nv12_to_rgb() takes NV12 frames, this one is {frame.format.name}; decode with OutputColorType.RGBP"
        raise ValueError(message)
    array = frame._device_array
    samples = np.asarray(frame) if array is None else array.numpy()
    picture = _as_frame(samples, frame._layout, frame._color)
    device = None if array is None else f"cuda:{array.__dlpack_device__()[1]}"
    layout, address, owner = make_surface(picture, OutputColorType.RGBP, device)
    return make_frame(layout, address, owner, frame.timestamp, frame._stream, color=frame._color)


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
            if frame.format in _SHARED and _lies_as(host, layout):
                return Surface(layout, host.planes[0].data_ptr, host)
        return _host_surface(host, source, color)
    if frame.device == device and color == OutputColorType.NATIVE:
        layout = layout_of(source.target, frame.width, frame.height)
        # NVDEC's formats are the documented ones, except for odd widths.
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
    """Whether the planes have the positions and strides of the layout."""
    planes = frame.planes
    address: int = planes[0].data_ptr
    expected = [address + plane.offset for plane in layout.planes]
    return [plane.data_ptr for plane in planes] == expected and planes[0].strides[0] == layout.planes[0].strides[0]


def _as_frame(
    array: Samples, layout: FrameLayout, color: tricodec.video.ColorDescription | None = None
) -> tricodec.Frame:
    """A packed picture as a frame of the core, whatever its planes mean."""
    if layout.pixel_format is Pixel_Format.RGB:
        planes = [array]
    elif layout.pixel_format is Pixel_Format.RGBP:
        planes = list(array)
    elif len(layout.planes) == 2:
        rest = array[layout.height :]
        planes = [array[: layout.height], rest.reshape(rest.shape[0], -1, 2)]
    else:
        planes = [array[index * layout.height : (index + 1) * layout.height] for index in range(3)]
    return tricodec.Frame.from_planes(planes, _CORE_FORMATS[layout.pixel_format], color=color)


def _pack(frame: tricodec.Frame, source: SampleFormat, layout: FrameLayout) -> Samples:
    """Packs a frame that needs more samples than it has: odd widths, few chroma samples, or none."""
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


Samples = npt.NDArray[Any]  # uint8 or uint16


def luma_of(frame: tricodec.Frame) -> Samples:
    """Luma [H, W]; green for GBR."""
    return np.asarray(frame.planes[0])


def chroma_of(frame: tricodec.Frame, source: SampleFormat) -> tuple[Samples, Samples] | None:
    """Both chroma planes as stored; None for a picture of luma only."""
    if source.chroma == "none":
        return None
    if source.chroma == "pairs":
        pairs = np.asarray(frame.planes[1])
        return pairs[..., 0], pairs[..., 1]
    return np.asarray(frame.planes[1]), np.asarray(frame.planes[2])


def repeated(samples: Samples, rows: int, columns: int, shape: tuple[int, ...]) -> Samples:
    """Repeats each sample ``rows`` x ``columns`` times and cuts the result to ``shape``."""
    if rows > 1:
        samples = samples.repeat(rows, axis=0)
    if columns > 1:
        samples = samples.repeat(columns, axis=1)
    return samples[: shape[0], : shape[1]]


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
