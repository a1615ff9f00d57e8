# SPDX-License-Identifier: Apache-2.0
"""Profiler, MemoryTracker, Plan and WorkerPool on a GPU."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from media import generated


def test_work_of_a_gpu_is_timed_there_and_lies_on_the_clock_of_the_calls() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cuda") as reader:
        reader.batch(range(16), size=(24, 32))  # the kernels are loaded
        with tricodec.Profiler() as profiler:
            time.sleep(0.05)
            reader.batch(range(16), size=(24, 32))

    stages = profiler.stages
    assert {"read", "decode", "transform"} <= set(stages)
    assert 0 < stages["transform"].gpu_seconds < profiler.seconds
    assert stages["transform"].frames == 16
    assert stages["decode"].gpu_seconds > 0  # NVDEC's pictures and their copies
    kernels = [event for event in profiler.events if event.device == "cuda:0" and event.stage == "transform"]
    assert sum(event.frames for event in kernels) == 16
    assert all(0.05 <= event.begin_seconds <= profiler.seconds for event in kernels)


CLIP = "h264_bframes.mp4"
BATCH_BYTES = 16 * 3 * 96 * 160 * 4


def test_a_batch_is_memory_of_the_gpu_and_a_decoder_is_kept_for_the_next_file() -> None:
    with tricodec.measure.MemoryTracker(max_events=100_000) as tracker:
        for _ in range(2):
            with tricodec.FrameReader(generated(CLIP), device="cuda:0") as reader:
                batch = reader.batch(range(16), size=(96, 160), dtype="float32", layout="CHW")
                assert tricodec.memory_stats()["device cuda:0"].in_use_bytes >= BATCH_BYTES
        del batch
        gc.collect()

    decoders = tracker.allocators["decoders cuda:0"]
    assert decoders.reuses >= 1
    assert decoders.idle_bytes > 0
    device = tracker.allocators["device cuda:0"]
    assert device.peak_bytes >= BATCH_BYTES
    assert device.reuses > 0
    in_use: dict[str, int] = {}
    signs = {"allocate": 1, "reuse": 1, "release": -1, "free": 0}
    for event in tracker.events:
        if event.allocator in in_use:
            assert event.in_use_bytes == in_use[event.allocator] + signs[event.action] * event.size_bytes
        in_use[event.allocator] = event.in_use_bytes


OPTIONS: dict[str, Any] = {"start": 2, "count": 12, "size": (90, 160), "dtype": "float32", "layout": "CHW"}
CLIPS = ("h264_bframes.mp4", "hevc.mp4", "vp9.webm")


@pytest.fixture(scope="module")
def plan() -> tricodec.Plan:
    return tricodec.Plan(media.generated(CLIPS[0]), device="cuda", tune=True, **OPTIONS)


def expected(clip: str) -> Any:
    return tricodec.decode_video(media.generated(clip), device="cpu", **OPTIONS).frames


def test_a_plan_names_the_gpu_and_is_loaded_where_it_is(plan: tricodec.Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.json")

    assert plan.machine["device"] == "cuda"
    assert plan.machine["gpu"]
    assert plan.choices.instruction_set == f"cuda {plan.machine['compute_capability']}"
    assert int(plan.machine["cuda_driver"]) >= 11000
    assert {measured.num_workers for measured in plan.measurements} == {0}
    assert tricodec.Plan.load(tmp_path / "plan.json") == plan


def test_workers_read_what_the_cpu_reads(plan: tricodec.Plan) -> None:
    with tricodec.WorkerPool(plan, 4) as pool:
        videos = list(pool.map([media.generated(clip) for clip in CLIPS * 8]))

    for clip, video in zip(CLIPS * 8, videos, strict=True):
        assert isinstance(video.frames, tricodec.DeviceArray)
        np.testing.assert_array_equal(video.frames.numpy(), expected(clip))
