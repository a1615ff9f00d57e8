# SPDX-License-Identifier: Apache-2.0
"""From decoded frames to what a model takes: 224x224, RGB, normalized float32, CHW."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import tricodec
from measure import rate
from schema import Record

_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_STD = np.array([0.229, 0.224, 0.225], np.float32)
_NUM_FRAMES = 16


def records(clips: dict[str, Path], samples: int) -> Iterator[Record]:
    """Frames a second, the decoding left out."""
    transform = tricodec.Transform(
        size=(224, 224), dtype="float32", layout="CHW", mean=_MEAN.tolist(), std=_STD.tolist()
    )
    for name, path in clips.items():
        with tricodec.FrameReader(path) as reader:
            frames = reader[:_NUM_FRAMES]
        with av.open(str(path)) as container:
            peers = [frame for frame, _ in zip(container.decode(video=0), range(_NUM_FRAMES), strict=False)]

        def ours(frames: list[tricodec.Frame] = frames) -> int:
            for frame in frames:
                transform(frame)
            return len(frames)

        def pyav(frames: list[av.VideoFrame] = peers) -> int:
            for frame in frames:
                rgb = frame.to_ndarray(width=224, height=224, format="rgb24", interpolation="BILINEAR")
                ((rgb.astype(np.float32) / 255 - _MEAN) / _STD).transpose(2, 0, 1).copy()
            return len(frames)

        yield rate(f"transform.{name}_to_224_float", "frames/s", ours, {"pyav_swscale_numpy": pyav}, samples=samples)
