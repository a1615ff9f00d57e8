# SPDX-License-Identifier: Apache-2.0
"""Plan and WorkerPool on a GPU: the CPU's bytes, a stream for each worker, files that name the GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec

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
