# SPDX-License-Identifier: Apache-2.0
"""A clip for a model of actions: 16 frames of a video, as such models of torchvision take them.

The model beside this file runs the function `pipeline`; NVIDIA's DALI backend finds it by `autoserialize`.
"""

from __future__ import annotations

from typing import Any

import tricodec.dali  # noqa: F401  (adds fn.tricodec)
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.triton import autoserialize


@autoserialize
@pipeline_def(batch_size=16, num_threads=4, device_id=None)
def pipeline() -> tuple[Any, Any]:
    """Encoded video and number of the first frame in; frames, float32 [3, 16, 112, 112], and their times out."""
    video = fn.external_source(name="VIDEO", dtype=types.UINT8, ndim=1)
    start = fn.external_source(name="START", dtype=types.INT64, ndim=1)
    frames, pts = fn.tricodec.decode_video(video, start=start, stride=2, count=16, size=(128, 171))
    clip = fn.crop_mirror_normalize(
        frames,
        crop=(112, 112),
        mean=[0.43216 * 255, 0.394666 * 255, 0.37645 * 255],
        std=[0.22803 * 255, 0.22145 * 255, 0.216989 * 255],
        dtype=types.FLOAT,
        output_layout="CFHW",
    )
    return clip, pts
