# SPDX-License-Identifier: Apache-2.0
"""What the tests of PyNvVideoCodec's encoder share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import PyNvVideoCodec as nvc

Array = npt.NDArray[Any]
WIDTH, HEIGHT = 192, 128
SUFFIX = {"h264": ".h264", "hevc": ".hevc", "av1": ".ivf"}


def encode(frames: Array, path: Path, fmt: str = "NV12", **options: Any) -> Path:
    """All frames to a file, as the document's example does it."""
    options = {"preset": "P1", **options}
    height = frames.shape[1] * 2 // 3 if fmt in ("NV12", "P010") else HEIGHT
    encoder = nvc.CreateEncoder(frames.shape[2] if frames.ndim > 2 else WIDTH, height, fmt, True, **options)
    out = path / ("out" + SUFFIX[options.get("codec", "h264")])
    with out.open("wb") as file:
        for frame in frames:
            file.write(bytearray(encoder.Encode(frame.reshape(-1))))
        file.write(bytearray(encoder.EndEncode()))
    return out
