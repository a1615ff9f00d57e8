# SPDX-License-Identifier: Apache-2.0
"""The geometry of a decoded frame: shapes, strides, sizes and plane addresses, and how samples get there.

Planes are packed: rows follow one another, and so do planes. If chroma samples come in pairs, an odd width is rounded
up to the next even one. An odd height keeps its last chroma row (rows are rounded up, never down).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec

from ._calls import PyNvVCExceptionUnsupported
from ._enums import Pixel_Format


class CallableTuple(tuple[int, ...]):
    """A tuple that returns itself when called: documents write ``frame.shape()``, programs ``frame.shape``."""

    __slots__ = ()

    def __call__(self) -> tuple[int, ...]:
        return self


class CallableStr(str):
    """A str that returns itself when called, for ``frame.dtype`` and ``frame.dtype()``."""

    __slots__ = ()

    def __call__(self) -> str:
        return self


@dataclasses.dataclass(frozen=True, slots=True)
class PlaneLayout:
    """One plane: shape and strides of its CAIMemoryView, and its position in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class FrameLayout:
    """A frame of one format and size.

    Attributes:
        width: number of samples in a luma row, rounded up to even for NV12, P016, NV16 and P216.
        shape: shape of the array of the whole frame: the rows of all planes, or the RGB picture.
        strides: strides of that array in elements, as in DLPack.
        itemsize: size of a sample in bytes.
    """

    pixel_format: Pixel_Format
    width: int
    height: int
    itemsize: int
    shape: CallableTuple
    strides: CallableTuple
    size_bytes: int
    planes: tuple[PlaneLayout, ...]

    @property
    def typestr(self) -> CallableStr:
        """The type of a sample as documented."""
        return _U1 if self.itemsize == 1 else _U2

    @property
    def numpy_typestr(self) -> str:
        """The type of a sample in numpy."""
        return "|u1" if self.itemsize == 1 else "<u2"


_U1 = CallableStr("|u1")
_U2 = CallableStr("|u2")

_SEMI_PLANAR = {Pixel_Format.NV12, Pixel_Format.P016, Pixel_Format.NV16, Pixel_Format.P216}
_SIXTEEN_BIT = {Pixel_Format.P016, Pixel_Format.P216, Pixel_Format.YUV444_16Bit}


@functools.lru_cache(maxsize=256)
def layout_of(pixel_format: Pixel_Format, width: int, height: int) -> FrameLayout:
    """The layout of a picture of ``width`` x ``height`` pixels."""
    size = 2 if pixel_format in _SIXTEEN_BIT else 1
    if pixel_format in _SEMI_PLANAR:
        width += width & 1
        chroma_rows = (height + 1) // 2 if pixel_format in (Pixel_Format.NV12, Pixel_Format.P016) else height
        row = width * size
        planes: tuple[PlaneLayout, ...] = (
            PlaneLayout((height, width, 1), (row, size, size), 0),
            PlaneLayout((chroma_rows, width // 2, 2), (row, 2 * size, size), row * height),
        )
        shape, strides = (height + chroma_rows, width), (width, 1)
    elif pixel_format in (Pixel_Format.YUV444, Pixel_Format.YUV444_16Bit):
        row = width * size
        planes = tuple(PlaneLayout((height, width, 1), (row, size, size), row * height * i) for i in range(3))
        shape, strides = (3 * height, width), (width, 1)
    elif pixel_format is Pixel_Format.RGB:
        planes = (PlaneLayout((height, width, 3), (3 * width, 3, 1), 0),)
        shape, strides = (height, width, 3), (3 * width, 3, 1)  # type: ignore[assignment]
    else:
        planes = tuple(PlaneLayout((height, width), (width, 1), width * height * i) for i in range(3))
        shape, strides = (3, height, width), (height * width, width, 1)  # type: ignore[assignment]
    size_bytes = size
    for extent in shape:
        size_bytes *= extent
    return FrameLayout(
        pixel_format, width, height, size, CallableTuple(shape), CallableTuple(strides), size_bytes, planes
    )


@dataclasses.dataclass(frozen=True, slots=True)
class SampleFormat:
    """The conversion of one of FFmpeg's pixel formats.

    Attributes:
        target: the format of the delivered frames.
        core_name: FFmpeg's name of that format if the core moves the samples; empty if `pack` does it.
        shift: left shift that moves a sample into the high bits of a 16-bit word.
        repeat: (rows, columns): how often each chroma sample is repeated, if the target has more of them.
        chroma: "planar", "pairs" (interleaved) or "none" (luma only: chroma gets the neutral value).
        depth: number of significant bits of a sample.
        subsampling: name of a member of cudaVideoChromaFormat.
    """

    target: Pixel_Format
    core_name: str
    shift: int
    repeat: tuple[int, int]
    chroma: str
    depth: int
    subsampling: str


_TARGETS = {
    "420": (Pixel_Format.NV12, "nv12", Pixel_Format.P016, "p016le"),
    "422": (Pixel_Format.NV16, "nv16", Pixel_Format.P216, "p216le"),
    "444": (Pixel_Format.YUV444, "", Pixel_Format.YUV444_16Bit, "yuv444p16le"),
}


def _build_table() -> dict[str, SampleFormat]:
    table: dict[str, SampleFormat] = {}

    def add(
        name: str,
        family: str,
        depth: int,
        *,
        chroma: str = "planar",
        repeat: tuple[int, int] = (1, 1),
        high: bool = False,
    ) -> None:
        narrow, narrow_name, wide, wide_name = _TARGETS[family]
        target, core_name = (narrow, narrow_name) if depth == 8 else (wide, wide_name)
        # The core moves samples but adds none, and a frame that has the layout already would share its memory.
        rearranged = chroma == "planar" and repeat == (1, 1) and name != core_name and not name.startswith("gbr")
        rearranged = rearranged and not high
        shift = 0 if depth == 8 or high else 16 - depth
        subsampling = "Monochrome" if chroma == "none" else family
        table[name] = SampleFormat(target, core_name if rearranged else "", shift, repeat, chroma, depth, subsampling)

    for depth, suffix in ((8, ""), (10, "10le"), (12, "12le"), (16, "16le")):
        add(f"gray{suffix}", "420", depth, chroma="none")
        add(f"yuv420p{suffix}", "420", depth)
        add(f"yuv422p{suffix}", "422", depth)
        add(f"yuv440p{suffix}", "444", depth, repeat=(2, 1))
        add(f"yuv444p{suffix}", "444", depth)
        add(f"gbrp{suffix}", "444", depth)
    add("yuv410p", "420", 8, repeat=(2, 2))
    add("yuv411p", "422", 8, repeat=(1, 2))
    add("nv12", "420", 8, chroma="pairs")
    add("nv16", "422", 8, chroma="pairs")
    add("nv24", "444", 8, chroma="pairs")
    for name, family, depth in (
        ("p010le", "420", 10),
        ("p012le", "420", 12),
        ("p016le", "420", 16),
        ("p210le", "422", 10),
        ("p216le", "422", 16),
    ):
        add(name, family, depth, chroma="pairs", high=True)
    add("yuv444p10msble", "444", 10, high=True)
    add("yuv444p12msble", "444", 12, high=True)
    return table


_SAMPLE_FORMATS = _build_table()


def sample_format(name: str) -> SampleFormat:
    """The conversion of FFmpeg's format ``name``. Raises PyNvVCExceptionUnsupported for other formats."""
    found = _SAMPLE_FORMATS.get(name)
    if found is None:
        message = f"frames of pixel format {name!r} have no documented layout; accepted: {', '.join(_SAMPLE_FORMATS)}"
        raise PyNvVCExceptionUnsupported(message)
    return found


def layout_of_stream(stream: tricodec.video.StreamInfo) -> FrameLayout:
    """The layout of frames that the headers of a stream state; NV12 if they do not state the format."""
    name = stream.pixel_format_name or "yuv420p"
    name = name.replace("yuvj", "yuv")
    return layout_of(sample_format(name).target, stream.width, stream.height)


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


def lies_as(frame: tricodec.Frame, layout: FrameLayout) -> bool:
    """Whether the planes have the positions and strides of the layout."""
    planes = frame.planes
    address: int = planes[0].data_ptr
    expected = [address + plane.offset for plane in layout.planes]
    return [plane.data_ptr for plane in planes] == expected and planes[0].strides[0] == layout.planes[0].strides[0]


def as_frame(
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


def pack(frame: tricodec.Frame, source: SampleFormat, layout: FrameLayout) -> Samples:
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
