# SPDX-License-Identifier: Apache-2.0
"""`tricodec.Profiler` on a GPU: kernels are timed there, by events, and the host does not wait for them."""

from __future__ import annotations

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
    assert stages["decode"].gpu_seconds == 0


def test_more_kernels_than_are_remembered_are_timed() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cuda") as reader:
        frame = reader[0]
    transform = tricodec.Transform(size=(24, 32))
    transform(frame)
    times = []
    for calls in (500, 5000):
        with tricodec.Profiler() as profiler:
            for _ in range(calls):
                transform(frame)
        assert profiler.stages["transform"].calls == calls
        times.append(profiler.stages["transform"].gpu_seconds)
    assert 2 * times[0] < times[1] < 100 * times[0]
