# SPDX-License-Identifier: Apache-2.0
"""The Triton model dali_clip and a model like it with a user's pipeline: requests, and what they are answered."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import tricodec
from media import generated

MODEL = Path(tricodec.__file__).parent / "model_repository" / "dali_clip"

# A pipeline of a user: two outputs of different lengths, an input of BYTES and one of numbers.
OWN = """
import tricodec.dali
from nvidia.dali import fn, pipeline_def, types

@pipeline_def(batch_size=8, num_threads=2, device_id=None)
def pipeline():
    file = fn.external_source(name="FILE", dtype=types.UINT8, ndim=1)
    factor = fn.external_source(name="FACTOR", dtype=types.FLOAT, ndim=1)
    frames, pts = fn.tricodec.decode_video(file, color="gray")
    return fn.cast(fn.reductions.max(frames, axes=[1, 2, 3]), dtype=types.FLOAT) * factor, pts
"""
OWN_CONFIG = """
name: "NAME"
backend: "python"
max_batch_size: 4
input [ { name: "FILE" data_type: TYPE_STRING dims: [ 1 ] }, { name: "FACTOR" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "BRIGHTEST" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "PTS" data_type: TYPE_FP64 dims: [ -1 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
parameters { key: "workers" value { string_value: "2" } }
"""


def own_model(folder: Path, name: str, source: str = OWN, config: str = OWN_CONFIG, **parameters: str) -> None:
    """Adds a model with a pipeline of its own to a repository."""
    (folder / name / "1").mkdir(parents=True)
    shutil.copy(MODEL / "1" / "model.py", folder / name / "1")
    (folder / name / "1" / "dali.py").write_text(source)
    config = config.replace("NAME", name)
    for key, value in parameters.items():
        config += f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
    (folder / name / "config.pbtxt").write_text(config)


def clip_tensors(*starts: int, data: bytes | None = None) -> dict[str, Any]:
    """A request of dali_clip: one file, from different frames on."""
    file = np.frombuffer(data if data is not None else generated("h264_bframes.mp4").read_bytes(), np.uint8)
    return {"VIDEO": np.stack([file] * len(starts)), "START": np.array(starts, np.int64)[:, np.newaxis]}


def expected_clip(source: Path | bytes, start: int) -> tuple[Any, Any]:
    """What dali_clip gives, from the frames of Python by numpy."""
    video = tricodec.decode_video(source, start=start, stride=2, count=16, size=(128, 171), device="cpu")
    # The middle of the picture; DALI rounds 29.5 up.
    frames = video.frames[:, 8:120, 30:142].astype(np.float32)
    mean = np.array([0.43216 * 255, 0.394666 * 255, 0.37645 * 255], np.float32)
    std = np.array([0.22803 * 255, 0.22145 * 255, 0.216989 * 255], np.float32)
    return ((frames - mean) * (np.float32(1) / std)).transpose(3, 0, 1, 2), video.pts_seconds
