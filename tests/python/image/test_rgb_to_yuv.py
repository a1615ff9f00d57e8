# SPDX-License-Identifier: Apache-2.0
"""RGB to YUV: section 10 of docs/reference/transform.md restated in numpy, and libswscale as a second opinion."""

from __future__ import annotations

from typing import Any

import media
import numpy as np
import numpy.typing as npt
import pytest
import tricodec

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


def test_transform_undoes_it_within_the_rounding() -> None:
    picture = noise()
    encoder = tricodec.Encoder(WIDTH, HEIGHT, format="yuv444p", color={"matrix": "bt709"}, options={"qp": 0})
    decoder = tricodec.Decoder("h264")
    frames = [frame for packet in [*encoder.encode(picture), *encoder.flush()] for frame in decoder.decode(packet)]

    back = tricodec.Transform()([*frames, *decoder.flush()][0])

    assert np.abs(back.astype(int) - picture).max() <= 2
