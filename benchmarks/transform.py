# SPDX-License-Identifier: Apache-2.0
"""From decoded frames to what a model takes: 224x224, RGB, normalized float32, CHW. Kernels against scalar code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import tricodec
from measure import rate
from schema import Record

_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_STD = np.array([0.229, 0.224, 0.225], np.float32)
_NUM_FRAMES = 16
_REPEATS = 8
# The engine is chosen once a process, so the scalar one runs in a process of its own, which answers each line it reads.
_SCALAR = {"TRICODEC_DISABLE_CPU_FEATURES": "sse4,neon"}
_ENGINE_CASES: dict[str, dict[str, Any]] = {
    "rgb_uint8": {},
    "224_float_kernels": {
        "size": (224, 224),
        "dtype": "float32",
        "layout": "CHW",
        "mean": _MEAN.tolist(),
        "std": _STD.tolist(),
    },
}


class _OneFrame:
    """A transform of a clip's first frame into the same memory again and again."""

    def __init__(self, path: str, case: str) -> None:
        with tricodec.FrameReader(path) as reader:
            self._frame = reader[0]
        self._transform = tricodec.Transform(**_ENGINE_CASES[case])
        self._out = self._transform(self._frame)

    def __call__(self) -> int:
        for _ in range(_REPEATS):
            self._transform(self._frame, out=self._out)
        return _REPEATS


def _serve_scalar(path: str, case: str) -> None:
    work = _OneFrame(path, case)
    for _ in sys.stdin:
        print(work(), flush=True)


def engine_records(name: str, path: Path, samples: int) -> Iterator[Record]:
    """Frames a second of the kernels and, in the same samples, of the scalar engine; one thread each."""
    for case in _ENGINE_CASES:
        command = [sys.executable, __file__, str(path), case]
        with subprocess.Popen(
            command, env={**os.environ, **_SCALAR}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:

            def scalar(process: subprocess.Popen[str] = process) -> int:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write("\n")
                process.stdin.flush()
                return int(process.stdout.readline())

            ours = _OneFrame(str(path), case)
            yield rate(f"transform.{name}_to_{case}", "frames/s", ours, {"scalar": scalar}, samples=samples)


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
        yield from engine_records(name, path, samples)


if __name__ == "__main__":
    _serve_scalar(sys.argv[1], sys.argv[2])
