# SPDX-License-Identifier: Apache-2.0
"""docs/reference/transform.md restated in numpy, from that page alone: whole arrays, exact integers, no plan."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Format:
    """What a pixel format's name says."""

    family: str  # "gray", "yuv", "rgb"
    log2_w: int
    log2_h: int
    depth: int
    shift: int
    layout: str  # "planar", "semi", "packed"


def _formats() -> dict[str, Format]:
    table = {f"gray{suffix}": Format("gray", 0, 0, depth, 0, "planar") for suffix, depth in _DEPTHS.items()}
    for name, (log2_w, log2_h) in _SUBSAMPLINGS.items():
        for suffix, depth in _DEPTHS.items():
            table[f"yuv{name}p{suffix}"] = Format("yuv", log2_w, log2_h, depth, 0, "planar")
    for absent in ("410p", "411p"):
        for suffix in ("10le", "12le", "16le"):
            del table[f"yuv{absent}{suffix}"]
    del table["yuv440p16le"]
    for name, (log2_w, log2_h) in {"nv12": (1, 1), "nv16": (1, 0), "nv24": (0, 0)}.items():
        table[name] = Format("yuv", log2_w, log2_h, 8, 0, "semi")
    for digit, log2_h in {"0": 1, "2": 0}.items():
        table[f"p{digit}10le"] = Format("yuv", 1, log2_h, 10, 6, "semi")
        table[f"p{digit}16le"] = Format("yuv", 1, log2_h, 16, 0, "semi")
    table["p012le"] = Format("yuv", 1, 1, 12, 4, "semi")
    table["yuv444p10msble"] = Format("yuv", 0, 0, 10, 6, "planar")
    table["yuv444p12msble"] = Format("yuv", 0, 0, 12, 4, "planar")
    for suffix, depth in _DEPTHS.items():
        table[f"gbrp{suffix}"] = Format("rgb", 0, 0, depth, 0, "planar")
    table["rgb24"] = table["bgr24"] = Format("rgb", 0, 0, 8, 0, "packed")
    return table


_DEPTHS = {"": 8, "10le": 10, "12le": 12, "16le": 16}
_SUBSAMPLINGS = {"410": (2, 2), "411": (2, 0), "420": (1, 1), "422": (1, 0), "440": (0, 1), "444": (0, 0)}
FORMATS = _formats()


def plane_shapes(name: str, width: int, height: int) -> list[tuple[int, ...]]:
    """Shapes of the arrays that hold a picture, [rows, columns] or [rows, columns, components]."""
    form = FORMATS[name]
    if form.layout == "packed":
        return [(height, width, 3)]
    if form.family == "gray":
        return [(height, width)]
    chroma = (-(-height >> form.log2_h), -(-width >> form.log2_w))
    if form.layout == "semi":
        return [(height, width), (*chroma, 2)]
    return [(height, width), chroma, chroma]


def plane_dtype(name: str) -> type[np.uint8] | type[np.uint16]:
    """Of a stored sample."""
    return np.uint8 if FORMATS[name].depth == 8 else np.uint16


def random_planes(rng: np.random.Generator, name: str, width: int, height: int) -> list[Array]:
    """Planes of uniform noise, with every value that the format's depth has."""
    form = FORMATS[name]
    return [
        (rng.integers(0, 1 << form.depth, shape) << form.shift).astype(plane_dtype(name))
        for shape in plane_shapes(name, width, height)
    ]


def components(planes: Sequence[Array], name: str) -> list[Array]:
    """Y, U, V or R, G, B or Y as int64 samples (4.1)."""
    form = FORMATS[name]
    if form.layout == "packed":
        order = (0, 1, 2) if name == "rgb24" else (2, 1, 0)
        arrays = [planes[0][:, :, i] for i in order]
    elif form.layout == "semi":
        arrays = [planes[0], planes[1][:, :, 0], planes[1][:, :, 1]]
    elif form.family == "rgb":
        arrays = [planes[2], planes[0], planes[1]]
    else:
        arrays = list(planes)
    return [array.astype(np.int64) >> form.shift for array in arrays]


def _chroma_start(location: str, log2_w: int, log2_h: int) -> tuple[float, float]:
    """The table of 2.2: horizontal and vertical p."""
    end_x, end_y = (1 << log2_w) - 1, (1 << log2_h) - 1
    return {
        "left": (0.0, end_y / 2),
        "unspecified": (0.0, end_y / 2),
        "center": (end_x / 2, end_y / 2),
        "topleft": (0.0, 0.0),
        "top": (end_x / 2, 0.0),
        "bottomleft": (0.0, float(end_y)),
        "bottom": (end_x / 2, float(end_y)),
    }[location]


def _kernel(resize: str, t: float) -> float:
    if resize == "bilinear":
        return 1.0 - t if t < 1.0 else 0.0
    if t < 1.0:
        return ((1.5 * t - 2.5) * t) * t + 1.0
    if t < 2.0:
        return ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    return 0.0


def taps(
    crop_start: int, crop_size: int, n: int, s: int, p: float, resize: str, antialias: bool
) -> list[dict[int, int]]:
    """Section 3: for each output the coefficients by sample."""
    low = crop_start >> s
    high = math.ceil((crop_start + crop_size) / 2**s) - 1
    scale = crop_size / n
    outputs = []
    for o in range(n):
        if resize == "nearest":
            luma_sample = crop_start + ((2 * o + 1) * crop_size) // (2 * n)
            outputs.append({luma_sample >> s: 16384})
            continue
        luma = (o + 0.5) * scale - 0.5 + crop_start
        center = (luma - p) / 2**s
        widening = max(1.0, scale / 2**s) if antialias else 1.0
        reach = (1.0 if resize == "bilinear" else 2.0) * widening
        weights: dict[int, float] = {}
        for i in range(math.floor(center - reach), math.floor(center + reach) + 2):
            at = min(max(i, low), high)
            weights[at] = weights.get(at, 0.0) + _kernel(resize, abs(i - center) / widening)
        total = 0.0
        for weight in weights.values():
            total += weight
        quantised = {i: math.floor(weight / total * 16384 + 0.5) for i, weight in weights.items()}
        largest = max(quantised, key=lambda i: quantised[i])
        quantised[largest] += 16384 - sum(quantised.values())
        outputs.append(quantised)
    return outputs


@functools.lru_cache(maxsize=512)
def _matrix(
    length: int, crop_start: int, crop_size: int, n: int, s: int, p: float, resize: str, antialias: bool
) -> Array:
    """The coefficients [outputs, samples]. All sums of products stay below 2^53, which float64 holds exactly."""
    dense = np.zeros((n, length))
    for row, coefs in enumerate(taps(crop_start, crop_size, n, s, p, resize, antialias)):
        for i, coef in coefs.items():
            dense[row, i] = coef
    return dense


def _product(a: Array, b: Array) -> Array:
    """The matrix product of integers, by float64, for which NumPy has a fast one."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)


_K = {
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
    "bt2020nc": (0.2627, 0.0593),
    "fcc": (0.30, 0.11),
    "smpte240m": (0.212, 0.087),
}


def color_rows(family: str, depth: int, matrix: str, limited: bool, color: str) -> tuple[list[list[float]], list[int]]:
    """5.1: the weights of each channel and the offsets of each component."""
    expand = 255 / 219 if limited else 255 * 2 ** (depth - 8) / (2**depth - 1)
    chroma = 255 / 224 if limited and matrix != "ycgco" else expand
    black = 1024 if limited else 0
    offsets = [black] * 3 if family == "rgb" else [black, 8192, 8192]
    diagonal = [[expand if i == j else 0.0 for j in range(3)] for i in range(3)]
    if color == "yuv":
        return [[1.0 if i == j else 0.0 for j in range(3)] for i in range(3)], [0, 0, 0]
    if color == "gray":
        if family != "rgb":
            return [[expand, 0.0, 0.0]], offsets
        kr, kb = _K["smpte170m"]
        return [[kr * expand, (1 - kr - kb) * expand, kb * expand]], offsets
    if family == "rgb":
        rows = diagonal
    elif family == "gray":
        rows = [[expand, 0.0, 0.0] for _ in range(3)]
    elif matrix == "ycgco":
        rows = [[expand, -chroma, chroma], [expand, chroma, 0.0], [expand, -chroma, -chroma]]
    else:
        kr, kb = _K[matrix]
        kg = 1 - kr - kb
        cr, cb = 2 * (1 - kr), 2 * (1 - kb)
        rows = [
            [expand, 0.0, cr * chroma],
            [expand, -(cb * kb / kg) * chroma, -(cr * kr / kg) * chroma],
            [expand, cb * chroma, 0.0],
        ]
    return (rows[::-1] if color == "bgr" else rows), offsets


def _orient(grid: Array, rotation: int, mirrored: bool) -> Array:
    """[channels, rows, columns], source orientation to upright."""
    if mirrored:
        grid = grid[:, :, ::-1]
    return np.rot90(grid, -rotation // 90, axes=(1, 2))


def _crop_in_source(
    crop: tuple[int, int, int, int], width: int, height: int, rotation: int, mirrored: bool
) -> tuple[int, int, int, int]:
    """Finds the crop by turning a picture of pixel numbers upright, cropping it, and looking what is in it."""
    upright = _orient(np.arange(width * height).reshape(1, height, width), rotation, mirrored)[0]
    top, left, crop_height, crop_width = crop
    inside = upright[top : top + crop_height, left : left + crop_width]
    rows, columns = inside // width, inside % width
    return int(rows.min()), int(columns.min()), int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


def transform(
    planes: Sequence[Array],
    name: str,
    *,
    stream_matrix: str = "unspecified",
    stream_range: str = "unspecified",
    chroma_location: str = "unspecified",
    rotation: int = 0,
    mirrored: bool = False,
    crop: tuple[int, int, int, int] | None = None,
    size: tuple[int, int] | None = None,
    resize: str = "bilinear",
    antialias: bool = True,
    chroma: str = "interpolated",
    color: str = "rgb",
    matrix: str | None = None,
    range: str | None = None,
    unspecified: str = "bt601",
    rotate: bool = True,
    dtype: str = "uint8",
    layout: str = "HWC",
    scale: float | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> Array:
    """The bytes that Transform must give for a frame of these planes; bfloat16 as uint16."""
    form = FORMATS[name]
    height, width = planes[0].shape[:2]
    if not rotate:
        rotation, mirrored = 0, False
    turned = rotation in (90, 270)
    upright = (width, height) if turned else (height, width)
    top, left, crop_h, crop_w = crop or (0, 0, *upright)
    out_height, out_width = size or (crop_h, crop_w)
    crop_y, crop_x, crop_h, crop_w = _crop_in_source((top, left, crop_h, crop_w), width, height, rotation, mirrored)
    if turned:
        out_height, out_width = out_width, out_height

    resampled = []
    for number, component in enumerate(components(planes, name)):
        samples = component
        is_chroma = form.family == "yuv" and number > 0
        log2_w, log2_h = (form.log2_w, form.log2_h) if is_chroma else (0, 0)
        if chroma == "nearest":  # 3.4: the 4:4:4 picture of repeated samples
            samples = samples.repeat(1 << log2_h, 0).repeat(1 << log2_w, 1)[:height, :width]
            log2_w, log2_h = 0, 0
        p_x, p_y = _chroma_start(chroma_location, log2_w, log2_h)
        rows, columns = samples.shape
        vertical = _matrix(rows, crop_y, crop_h, out_height, log2_h, p_y, resize, antialias)
        horizontal = _matrix(columns, crop_x, crop_w, out_width, log2_w, p_x, resize, antialias)
        v = (_product(vertical, samples) + (1 << (form.depth - 1))) >> form.depth
        resampled.append((_product(v, horizontal.T) + 8192) >> 14)
    while len(resampled) < 3:
        resampled.append(np.full_like(resampled[0], 8192))

    stated_range = range or stream_range
    limited = stated_range == "limited" or (stated_range == "unspecified" and form.family == "yuv")
    stated = matrix or stream_matrix
    if stated in ("unspecified", "rgb"):
        high = unspecified == "bt709" or (unspecified == "by_height" and height >= 720)
        stated = "bt709" if high else "smpte170m"
    rows, offsets = color_rows(form.family, form.depth, stated, limited, color)
    centred = [samples - offset for samples, offset in zip(resampled, offsets, strict=True)]

    largest = (2**form.depth - 1) / 2 ** (form.depth - 8) if color == "yuv" else 255.0
    channels = []
    for number, row in enumerate(rows):
        if dtype == "uint8":
            fixed = [math.floor(weight * 8192 + 0.5) for weight in row]
            total = sum(c * samples for c, samples in zip(fixed, centred, strict=True))
            channels.append(np.clip((total + (1 << 18)) >> 19, 0, 255).astype(np.uint8))
            continue
        values = _float_channel(row, centred, number, scale, mean, std, largest)
        channels.append(bfloat16_bits(values) if dtype == "bfloat16" else values.astype(dtype))
    return _arrange(_orient(np.stack(channels), rotation, mirrored), layout)


def _arrange(upright: Array, layout: str) -> Array:
    """Section 6: [channels, rows, columns] to the layout, elements of no channel zero."""
    channels, rows, columns = upright.shape
    if layout.endswith("CHW"):
        return np.ascontiguousarray(upright)
    if layout.endswith("HWC"):
        return np.ascontiguousarray(upright.transpose(1, 2, 0))
    group = 2 if layout.endswith("2") else 8
    padded = np.zeros((-(-channels // group) * group, rows, columns), upright.dtype)
    padded[:channels] = upright
    if layout.endswith("8"):
        return np.ascontiguousarray(padded.transpose(1, 2, 0))
    return np.ascontiguousarray(padded.reshape(-1, 2, rows, columns).transpose(0, 2, 3, 1))


def bfloat16_bits(values: Array) -> npt.NDArray[np.uint16]:
    """5.4: the bits of the bfloat16 nearest to each float32, ties to even, in integers by what is cut off."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    kept, cut = bits >> 16, bits & 0xFFFF
    up = (cut > 0x8000) | ((cut == 0x8000) & (kept % 2 == 1))
    return (kept + up).astype(np.uint16)


def _float_channel(
    row: list[float],
    centred: list[Array],
    channel: int,
    scale: float | None,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    largest: float,
) -> Array:
    """5.3."""

    def chosen(values: Sequence[float] | None, otherwise: float) -> float:
        if not values:
            return otherwise
        return float(np.float32(values[channel] if len(values) > 1 else values[0]))

    scale64 = float(np.float32(1 / 255) if scale is None else np.float32(scale))
    mean64, std64 = chosen(mean, 0.0), chosen(std, 1.0)
    zero = np.float32(0)
    factors = [np.float32(weight * (scale64 / (64 * std64))) + zero for weight in row]
    bias = np.float32(-mean64 / std64) + zero
    black = np.float32((0 * scale64 - mean64) / std64) + zero
    white = np.float32((largest * scale64 - mean64) / std64) + zero
    y, u, v = (samples.astype(np.float32) for samples in centred)
    r = ((y * factors[0] + u * factors[1]) + v * factors[2]) + bias
    assert r.dtype == np.float32
    return np.minimum(np.maximum(r, min(black, white)), max(black, white))
