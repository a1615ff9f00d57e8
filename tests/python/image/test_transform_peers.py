# SPDX-License-Identifier: Apache-2.0
"""Transform agrees with libswscale, Pillow and torch, within tolerances; tolerances.py has the reasons."""

from __future__ import annotations

import functools

import media
import numpy as np
import pytest
import tolerances
import transform_oracle as oracle
import tricodec
from PIL import Image

WIDTH, HEIGHT = 320, 180
SIZES = [(97, 61), (500, 333)]
ACCURATE = "accurate_rnd+full_chroma_int+full_chroma_inp+bitexact"


def noise(name: str, seed: int) -> list[oracle.Array]:
    """Noise with colors inside RGB: swscale's fixed point wraps round far outside of it."""
    rng = np.random.default_rng(seed)
    form = oracle.FORMATS[name]
    unit = 1 << (form.depth - 8)
    planes = []
    for number, shape in enumerate(oracle.plane_shapes(name, WIDTH, HEIGHT)):
        chroma = form.family == "yuv" and number > 0
        low, high = (108, 148) if chroma else (70, 180)
        planes.append((rng.integers(low * unit, high * unit, shape) << form.shift).astype(oracle.plane_dtype(name)))
    return planes


@functools.cache
def picture(name: str) -> list[oracle.Array]:
    """A picture with smooth and sharp parts and a little grain."""
    source = f"mandelbrot=s={WIDTH}x{HEIGHT}:start_scale=0.5,noise=alls=8:all_seed=1,format={name}"
    raw = media.ffmpeg("-f lavfi -i", source, "-frames:v 1 -f rawvideo -")
    planes, at = [], 0
    for shape in oracle.plane_shapes(name, WIDTH, HEIGHT):
        plane = np.frombuffer(raw, oracle.plane_dtype(name), int(np.prod(shape)), at).reshape(shape)
        planes.append(plane)
        at += plane.nbytes
    assert at == len(raw)
    return planes


def swscale(planes: list[oracle.Array], name: str, width: int, height: int, options: str) -> oracle.Array:
    source = f"-f rawvideo -pix_fmt {name} -s {WIDTH}x{HEIGHT} -i -"
    scale = f"-vf scale={width}:{height}:{options} -pix_fmt rgb24 -f rawvideo -"
    result = media.ffmpeg(source, scale, stdin=b"".join(plane.tobytes() for plane in planes))
    return np.frombuffer(result, np.uint8).reshape(height, width, 3)


def swscale_color(name: str, matrix: str, color_range: str, vertical: int) -> str:
    form = oracle.FORMATS[name]
    text = f":in_color_matrix={matrix}:in_range={color_range}:out_range=full" if form.family == "yuv" else ""
    if form.log2_w:
        text += ":in_h_chr_pos=0"
    if form.log2_h:
        text += f":in_v_chr_pos={vertical}"
    return text


def expect_close(result: oracle.Array, expected: oracle.Array, tolerance: tolerances.Tolerance) -> None:
    assert result.shape == expected.shape
    difference = np.abs(result.astype(np.int32) - expected.astype(np.int32))
    assert difference.max() <= tolerance.largest
    assert difference.mean() <= tolerance.mean


CONTENTS = pytest.mark.parametrize("content", ["noise", "picture"])


def planes_of(name: str, content: str) -> list[oracle.Array]:
    return noise(name, 1) if content == "noise" else picture(name)


@CONTENTS
@pytest.mark.parametrize("color_range", ["limited", "full"])
@pytest.mark.parametrize(
    ("matrix", "theirs"),
    [("bt709", "bt709"), ("smpte170m", "smpte170m"), ("bt2020nc", "bt2020")],
)
@pytest.mark.parametrize("name", ["yuv422p", "yuv444p10le"])
def test_transform_converts_colors_as_swscale_does(
    name: str, matrix: str, theirs: str, color_range: str, content: str
) -> None:
    if oracle.FORMATS[name].depth > 8 and color_range == "full":
        color_range = "limited"  # swscale reads 10-bit full range as 8-bit times 4, which makes white 254.25 / 255
    planes = planes_of(name, content)
    frame = tricodec.Frame.from_planes(planes, name, color={"matrix": matrix, "range": color_range})
    expected = swscale(
        planes, name, WIDTH, HEIGHT, f"flags={ACCURATE}+bilinear" + swscale_color(name, theirs, color_range, 0)
    )

    expect_close(tricodec.Transform()(frame), expected, tolerances.SWSCALE_CONVERSION)


@CONTENTS
@pytest.mark.parametrize("name", ["yuv420p", "nv12", "yuv420p10le", "p010le"])
def test_transform_converts_subsampled_colors_as_swscale_does_for_topleft_chroma(name: str, content: str) -> None:
    # For other vertical sitings swscale, when it does not resize, takes one chroma row or the mean of two and no other
    # weights; at topleft those are the right ones, except in the last two rows, where it takes a row past the end.
    planes = planes_of(name, content)
    frame = tricodec.Frame.from_planes(
        planes, name, color={"matrix": "bt709", "range": "limited", "chroma_location": "topleft"}
    )
    expected = swscale(
        planes, name, WIDTH, HEIGHT, f"flags={ACCURATE}+bilinear" + swscale_color(name, "bt709", "limited", 0)
    )

    expect_close(tricodec.Transform()(frame)[:-2], expected[:-2], tolerances.SWSCALE_CONVERSION)


@CONTENTS
@pytest.mark.parametrize(("matrix", "theirs"), [("bt709", "bt709"), ("smpte170m", "smpte170m")])
@pytest.mark.parametrize("name", ["yuv420p", "yuv422p"])
def test_nearest_chroma_gives_the_frames_of_swscales_defaults(
    name: str, matrix: str, theirs: str, content: str
) -> None:
    """With these defaults torchcodec, decord and OpenCV make RGB; `-pix_fmt rgb24` does."""
    planes = planes_of(name, content)
    frame = tricodec.Frame.from_planes(planes, name, color={"matrix": matrix, "range": "limited"})
    expected = swscale(planes, name, WIDTH, HEIGHT, f"flags=bicubic:in_color_matrix={theirs}:in_range=limited")

    expect_close(tricodec.Transform(chroma="nearest")(frame), expected, tolerances.SWSCALE_DEFAULTS)


@CONTENTS
@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("name", ["yuv420p", "yuv420p10le", "p010le", "rgb24"])
def test_transform_resizes_as_swscale_does(name: str, width: int, height: int, content: str) -> None:
    planes = planes_of(name, content)
    yuv = oracle.FORMATS[name].family == "yuv"
    frame = tricodec.Frame.from_planes(planes, name, color={"matrix": "bt709", "range": "limited"} if yuv else None)
    expected = swscale(
        planes, name, width, height, f"flags={ACCURATE}+bilinear" + swscale_color(name, "bt709", "limited", 128)
    )

    result = tricodec.Transform(size=(height, width))(frame)

    expect_close(result[2:-2, 2:-2], expected[2:-2, 2:-2], tolerances.SWSCALE_BILINEAR)
    expect_close(result, expected, tolerances.SWSCALE_BILINEAR_BORDER)


@pytest.mark.parametrize(
    ("resize", "theirs"), [("bilinear", Image.Resampling.BILINEAR), ("bicubic", Image.Resampling.BICUBIC)]
)
@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("name", ["rgb24", "gray"])
def test_transform_resizes_as_pillow_does(
    name: str, width: int, height: int, resize: str, theirs: Image.Resampling
) -> None:
    planes = noise(name, 2)
    expected = np.asarray(Image.fromarray(planes[0]).resize((width, height), theirs)).reshape(height, width, -1)
    color = "gray" if name == "gray" else "rgb"

    result = tricodec.Transform(size=(height, width), resize=resize, color=color)(
        tricodec.Frame.from_planes(planes, name)
    )

    expect_close(result[4:-4, 4:-4], expected[4:-4, 4:-4], tolerances.PILLOW_RESIZE)
    expect_close(result, expected, tolerances.PILLOW_RESIZE_BORDER)


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", tolerances.TORCH_RESIZE), ("uint8", tolerances.TORCH_RESIZE_UINT8)]
)
@pytest.mark.parametrize("resize", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("name", ["rgb24", "gray"])
def test_transform_resizes_as_torch_and_so_torchvision_do_with_antialias(
    name: str, width: int, height: int, resize: str, dtype: str, tolerance: tolerances.Tolerance
) -> None:
    """What torchvision.transforms.v2.functional.resize(antialias=True) calls, float or uint8 by the version."""
    import torch

    planes = noise(name, 2)
    pictures = torch.from_numpy(planes[0].reshape(HEIGHT, WIDTH, -1)).permute(2, 0, 1)[None].to(getattr(torch, dtype))
    resized = torch.nn.functional.interpolate(
        pictures, (height, width), mode=resize, align_corners=False, antialias=True
    )
    expected = resized.round().clamp(0, 255)[0].permute(1, 2, 0).numpy()
    color = "gray" if name == "gray" else "rgb"

    result = tricodec.Transform(size=(height, width), resize=resize, color=color)(
        tricodec.Frame.from_planes(planes, name)
    )

    expect_close(result[4:-4, 4:-4], expected[4:-4, 4:-4], tolerance)
    expect_close(result, expected, tolerances.TORCH_RESIZE_BORDER)
