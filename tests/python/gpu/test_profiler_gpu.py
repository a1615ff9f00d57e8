# SPDX-License-Identifier: Apache-2.0
"""`tricodec.Profiler` on a GPU: work is timed there, by events, and the host does not wait for it."""

from __future__ import annotations

import time

import tricodec
from media import generated


def test_kernels_of_transform_are_timed_on_the_gpu() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cuda") as reader:
        reader.batch(range(16), size=(24, 32))  # the kernels are loaded
        with tricodec.Profiler() as profiler:
            reader.batch(range(16), size=(24, 32))

    stages = profiler.stages
    assert {"read", "decode", "transform"} <= set(stages)
    assert 0 < stages["transform"].gpu_seconds < profiler.seconds
    assert stages["transform"].frames == 16
    assert stages["decode"].gpu_seconds > 0  # NVDEC's pictures and their copies


def test_work_of_a_gpu_lies_on_the_clock_of_the_calls() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cuda") as reader:
        reader.batch(range(16), size=(24, 32))
        with tricodec.Profiler() as profiler:
            time.sleep(0.05)
            reader.batch(range(16), size=(24, 32))

    kernels = [event for event in profiler.events if event.device == "cuda:0" and event.stage == "transform"]
    assert sum(event.frames for event in kernels) == 16
    assert all(0.05 <= event.begin_seconds <= profiler.seconds for event in kernels)
