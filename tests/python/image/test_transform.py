# SPDX-License-Identifier: Apache-2.0
"""Transform gives, byte for byte, what docs/reference/transform.md says, as the numpy restatement reads it."""

from __future__ import annotations

import itertools
from typing import Any

import media
import numpy as np
import numpy.typing as npt
import pytest
import transform_oracle as oracle
import tricodec

MATRICES = ("unspecified", "rgb", "bt709", "fcc", "bt470bg", "smpte170m", "smpte240m", "ycgco", "bt2020nc")
LOCATIONS = ("unspecified", "left", "center", "topleft", "top", "bottomleft", "bottom")
DTYPES = ("uint8", "float16", "bfloat16", "float32")


def colors_of(name: str) -> tuple[str, ...]:
    return ("rgb", "bgr", "gray") if oracle.FORMATS[name].family == "rgb" else ("rgb", "bgr", "gray", "yuv")


def expect_equal(
    planes: list[oracle.Array],
    name: str,
    options: dict[str, Any],
    *,
    color: dict[str, str] | None = None,
    rotation: int = 0,
    mirrored: bool = False,
) -> None:
    color = color or {}
    frame = tricodec.Frame.from_planes(planes, name, color=color, rotation=rotation, mirrored=mirrored)
    expected = oracle.transform(
        planes,
        name,
        stream_matrix=color.get("matrix", "unspecified"),
        stream_range=color.get("range", "unspecified"),
        chroma_location=color.get("chroma_location", "unspecified"),
        rotation=rotation,
        mirrored=mirrored,
        **options,
    )

    result = tricodec.Transform(**options)(frame)
    if options.get("dtype") == "bfloat16":
        result = result.view(np.uint16)

    case = f"{name} {planes[0].shape} {color} {rotation} {mirrored} {options}"
    assert result.shape == expected.shape, case
    assert result.dtype == expected.dtype, case
    assert result.tobytes() == expected.tobytes(), case


def random_case(rng: np.random.Generator, name: str) -> dict[str, Any]:
    """Arguments of expect_equal: sizes from 1, a crop or none, every option."""

    def pick(choices: tuple[Any, ...]) -> Any:
        return choices[rng.integers(len(choices))]

    width, height = (int(rng.integers(1, pick((4, 40, 90)))) for _ in range(2))
    rotation = pick((0, 90, 180, 270))
    options: dict[str, Any] = {
        "resize": pick(("nearest", "bilinear", "bicubic")),
        "antialias": bool(rng.integers(2)),
        "chroma": pick(("interpolated", "nearest")),
        "color": pick(colors_of(name)),
        "dtype": pick(DTYPES),
        "layout": pick(("HWC", "CHW", "CHW2", "HWC8")),
        "rotate": bool(rng.integers(4)),
        "unspecified": pick(("bt601", "bt709", "by_height")),
    }
    if rng.integers(4) == 0:
        options["matrix"] = pick(MATRICES[2:])
    if rng.integers(4) == 0:
        options["range"] = pick(("limited", "full"))
    turned = options["rotate"] and rotation in (90, 270)
    rows, columns = (width, height) if turned else (height, width)
    if rng.integers(2):
        crop_height, crop_width = int(rng.integers(1, rows + 1)), int(rng.integers(1, columns + 1))
        top, left = int(rng.integers(0, rows - crop_height + 1)), int(rng.integers(0, columns - crop_width + 1))
        options["crop"] = (top, left, crop_height, crop_width)
    if rng.integers(4):
        options["size"] = (int(rng.integers(1, 70)), int(rng.integers(1, 70)))
    if options["dtype"] != "uint8":
        counts = (1,) if options["color"] == "gray" else (1, 3)
        if rng.integers(2):
            options["mean"] = [float(x) for x in rng.normal(size=pick(counts))]
        if rng.integers(2):
            options["std"] = [float(x) for x in rng.uniform(0.05, 2, size=pick(counts)) * pick((-1, 1, 1))]
        if rng.integers(2):
            options["scale"] = float(rng.uniform(-0.1, 1))
    return {
        "planes": oracle.random_planes(rng, name, width, height),
        "name": name,
        "options": options,
        "color": {"matrix": pick(MATRICES), "range": pick(("unspecified", "limited", "full")),
                  "chroma_location": pick(LOCATIONS)},
        "rotation": rotation,
        "mirrored": bool(rng.integers(2)),
    }  # fmt: skip


@pytest.mark.parametrize("name", oracle.FORMATS)
def test_transform_equals_the_document_for_random_geometry_and_options(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))

    for _ in range(30):
        expect_equal(**random_case(rng, name))


@pytest.mark.parametrize("name", oracle.FORMATS)
def test_transform_equals_the_document_for_every_color_dtype_layout_and_filter(name: str) -> None:
    planes = oracle.random_planes(np.random.default_rng(3), name, 23, 17)
    layouts, filters = ("HWC", "CHW", "NCHW2", "NHWC8"), ("nearest", "bilinear", "bicubic")

    # Each layout meets each color, each dtype and each filter.
    for (i, color), (j, dtype), (k, resize) in itertools.product(*map(enumerate, (colors_of(name), DTYPES, filters))):
        layout = layouts[(i + j + k) % len(layouts)]
        options = {"color": color, "dtype": dtype, "layout": layout, "resize": resize, "size": (9, 31)}
        expect_equal(planes, name, options)


def whole_chroma(planes: list[oracle.Array], name: str) -> list[oracle.Array]:
    """The planes of a planar 4:4:4 picture in which each pixel has the chroma sample that covers it."""
    form = oracle.FORMATS[name]
    height, width = planes[0].shape
    rows, columns = np.arange(height) >> form.log2_h, np.arange(width) >> form.log2_w
    return [planes[0], *(np.ascontiguousarray(plane[rows][:, columns]) for plane in planes[1:])]


@pytest.mark.parametrize("location", ["unspecified", "center", "topleft", "bottom"])
@pytest.mark.parametrize("name", ["yuv420p", "yuv422p", "yuv420p10le", "yuv422p12le", "yuv440p", "yuv444p"])
def test_nearest_chroma_gives_the_result_of_the_picture_of_repeated_chroma(name: str, location: str) -> None:
    planes = oracle.random_planes(np.random.default_rng(8), name, 75, 53)
    color = {"matrix": "bt709", "range": "full", "chroma_location": location}
    turn: dict[str, Any] = {"rotation": 90, "mirrored": True}
    whole = "yuv444p" + name.partition("p")[2]
    frame = tricodec.Frame.from_planes(planes, name, color=color, **turn)
    expected = tricodec.Frame.from_planes(whole_chroma(planes, name), whole, color=color, **turn)
    several: list[dict[str, Any]] = [
        {},
        {"crop": (3, 5, 40, 31)},
        {"size": (24, 40)},
        {"crop": (3, 5, 41, 31), "size": (90, 70), "resize": "bicubic", "dtype": "float32", "layout": "CHW"},
        {"size": (150, 106), "resize": "nearest", "color": "yuv"},
    ]

    for options in several:
        result = tricodec.Transform(chroma="nearest", **options)(frame)
        np.testing.assert_array_equal(result, tricodec.Transform(**options)(expected), str(options))


@pytest.mark.parametrize(("name", "resize"), [
    ("yuv420p", "nearest"), ("yuv420p", "bilinear"), ("yuv420p", "bicubic"),
    ("nv12", "bilinear"), ("p010le", "bicubic"), ("gbrp", "nearest"), ("gbrp", "bilinear"),
])  # fmt: skip
def test_transform_equals_the_document_for_a_720_line_picture_prepared_for_a_model(name: str, resize: str) -> None:
    planes = oracle.random_planes(np.random.default_rng(4), name, 1280, 720)
    options = {
        "crop": (281, 1, 718, 719),
        "size": (224, 224),
        "resize": resize,
        "dtype": "float32",
        "layout": "CHW",
        "mean": (0.485, 0.456, 0.406),
        "std": (0.229, 0.224, 0.225),
        "unspecified": "by_height",
    }

    expect_equal(planes, name, options, rotation=90)


def test_transform_rounds_float32_to_float16_as_numpy_does_over_its_whole_range() -> None:
    black = tricodec.Frame.from_planes([np.zeros((1, 1, 3), np.uint8)], "rgb24")
    exponents = np.arange(-30, 16.5, 0.5)
    rng = np.random.default_rng(7)
    values = (2.0 ** exponents[:, None] * rng.uniform(1, 2, (1, 3)) * rng.choice([-1, 1], (1, 3))).astype(np.float32)

    for row in values:
        options = {"scale": 1e-30, "mean": [-float(x) for x in row]}
        exact = tricodec.Transform(dtype="float32", **options)(black)
        result = tricodec.Transform(dtype="float16", **options)(black)

        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(result.view(np.uint16), exact.astype(np.float16).view(np.uint16))


Array = npt.NDArray[Any]
WEIGHTS = {"smpte170m": (0.299, 0.114), "bt709": (0.2126, 0.0722), "bt2020nc": (0.2627, 0.0593)}
WIDTH, HEIGHT = 70, 36


def coefficients(matrix: str, full: bool) -> Array:
    kr, kb = WEIGHTS[matrix]
    kg = 1 - kr - kb
    luma, chroma = (1.0, 1.0) if full else (219 / 255, 224 / 255)
    rows = [
        [kr * luma, kg * luma, kb * luma],
        [-kr * chroma / (2 * (1 - kb)), -kg * chroma / (2 * (1 - kb)), chroma / 2],
        [chroma / 2, -kg * chroma / (2 * (1 - kr)), -kb * chroma / (2 * (1 - kr))],
    ]
    return np.floor(np.array(rows) * 16384 + 0.5).astype(np.int64)


def formula(picture: Array, matrix: str, full: bool, rows: int, columns: int) -> list[Array]:
    """The planes; `rows` and `columns` is how many pixels a chroma sample covers, chroma at the left."""
    pixels = picture.astype(np.int64)
    table = coefficients(matrix, full)
    planes = [(pixels @ table[0] + ((0 if full else 16) << 14) + 8192) >> 14]
    wide = np.pad(pixels, ((0, 0), (1, 1), (0, 0)), mode="edge")
    across = wide[:, :-2:2] + 2 * wide[:, 1:-1:2] + wide[:, 2::2] if columns == 2 else 4 * pixels
    totals = 2 * (across[0::2] + across[1::2]) if rows == 2 else 4 * across
    planes += [(totals @ table[i] + (128 << 18) + (1 << 17)) >> 18 for i in (1, 2)]
    return [np.minimum(plane, 255) for plane in planes]


def made(picture: Array, format: str, color: dict[str, str]) -> list[Array]:
    """The planes that reach the encoder, through one that loses nothing."""
    encoder = tricodec.Encoder(
        picture.shape[1], picture.shape[0], format=format, color=color, options={"qp": 0, "preset": "ultrafast"}
    )
    decoder = tricodec.Decoder("h264")
    frames = [frame for packet in [*encoder.encode(picture), *encoder.flush()] for frame in decoder.decode(packet)]
    frames += decoder.flush()
    return [np.asarray(plane).astype(np.int64) for plane in frames[0].planes]


def noise(seed: int = 5) -> Array:
    picture = np.random.default_rng(seed).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    picture[:4, :8] = 255
    picture[4:8, :8] = 0
    picture[8:12, :8] = (0, 0, 255)
    return picture


@pytest.mark.parametrize("full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", list(WEIGHTS))
@pytest.mark.parametrize(("format", "rows", "columns"), [("yuv420p", 2, 2), ("yuv422p", 1, 2), ("yuv444p", 1, 1)])
def test_planes_are_those_of_the_formula(format: str, rows: int, columns: int, matrix: str, full: bool) -> None:
    picture = noise()

    planes = made(picture, format, {"matrix": matrix, "range": "full" if full else "limited"})

    for plane, expected in zip(planes, formula(picture, matrix, full, rows, columns), strict=True):
        assert np.array_equal(plane, expected)


@pytest.mark.parametrize("matrix", ["smpte170m", "bt709"])
def test_it_agrees_with_libswscale_where_no_chroma_is_dropped(matrix: str) -> None:
    picture = noise()
    name = {"smpte170m": "bt601", "bt709": "bt709"}[matrix]
    source = f"-f rawvideo -pix_fmt rgb24 -s {WIDTH}x{HEIGHT} -i -"
    scale = f"scale=sws_flags=accurate_rnd+full_chroma_int+full_chroma_inp:out_color_matrix={name}:out_range=tv"
    data = media.ffmpeg(source, "-vf", scale, "-pix_fmt yuv444p -f rawvideo -", stdin=picture.tobytes())
    by_swscale = np.frombuffer(data, np.uint8).reshape(3, HEIGHT, WIDTH).astype(np.int64)

    planes = np.stack(made(picture, "yuv444p", {"matrix": matrix}))

    assert np.abs(planes - by_swscale).max() <= 1
