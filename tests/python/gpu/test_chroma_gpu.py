# SPDX-License-Identifier: Apache-2.0
"""Nearest chroma on a GPU has the bytes of the CPU, for every format that subsamples chroma."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transform_oracle as oracle
import tricodec

SUBSAMPLED = [name for name, form in oracle.FORMATS.items() if form.log2_w or form.log2_h]
REQUESTS: list[dict[str, Any]] = [
    {},
    {"dtype": "float16", "layout": "CHW", "mean": 0.5, "std": 0.25},
    {"dtype": "float32", "color": "bgr", "crop": (3, 5, 60, 131)},
    {"crop": (2, 6, 61, 130), "layout": "CHW"},
    {"size": (40, 56), "dtype": "float32", "layout": "CHW"},
    {"size": (90, 200), "resize": "bicubic", "color": "yuv"},
]


@pytest.mark.parametrize("name", SUBSAMPLED)
def test_nearest_chroma_has_the_bytes_of_the_cpu(name: str) -> None:
    rng = np.random.default_rng(12)

    for width, height in ((160, 96), (143, 77)):
        planes = oracle.random_planes(rng, name, width, height)
        frame = tricodec.Frame.from_planes(planes, name, color={"matrix": "bt709"})
        for request in REQUESTS:
            transform = tricodec.Transform(chroma="nearest", **request)
            found = transform(frame.to("cuda")).numpy()
            np.testing.assert_array_equal(found, transform(frame), err_msg=f"{width}x{height} {request}")
