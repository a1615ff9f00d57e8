# SPDX-License-Identifier: Apache-2.0
"""`tricodec.memory_stats` and `tricodec.MemoryTracker`: bytes by allocator, peaks, and a log of events."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from gpu_helpers import runner_with_driver
from media import generated

CLIP = "h264_bframes.mp4"
BATCH_BYTES = 50 * 96 * 160 * 3 * 4


@pytest.fixture(autouse=True)
def _nothing_is_left_of_other_tests() -> None:
    gc.collect()


def read(count: int = 50) -> Any:
    """A batch of float32 pictures that lies in host memory of ours."""
    video = tricodec.decode_video(generated(CLIP), device="cpu", count=count, size=(96, 160), dtype="float32")
    return video.frames


def test_a_result_is_in_use_as_long_as_it_is_held() -> None:
    frames = read()
    held = tricodec.memory_stats()["host"]
    view = frames[3:5]
    del frames
    assert tricodec.memory_stats()["host"] == held  # a view holds all of it
    with tricodec.MemoryTracker(max_events=1000) as tracker:
        del view
        gc.collect()

    after = tricodec.memory_stats()["host"]
    came_back = held.in_use_bytes - after.in_use_bytes
    assert BATCH_BYTES <= came_back < BATCH_BYTES + 4096
    # A pool that is full lets go of what went unused for longest.
    freed = sum(event.size_bytes for event in tracker.events if event.action == "free")
    assert after.idle_bytes == held.idle_bytes + came_back - freed


def test_a_tracker_sees_the_peak_and_that_the_second_batch_takes_the_memory_of_the_first() -> None:
    read()
    with tricodec.MemoryTracker(max_events=10_000) as tracker:
        before = tracker.allocators["host"]
        read()
        first = tracker.allocators["host"]
        read()
        second = tracker.allocators["host"]

    assert first.peak_bytes - before.in_use_bytes >= BATCH_BYTES
    assert second.peak_bytes < first.peak_bytes + BATCH_BYTES
    assert second.in_use_bytes == before.in_use_bytes
    batches = [event.action for event in tracker.events if 0 <= event.size_bytes - BATCH_BYTES < 4096]
    assert batches == ["reuse", "release"] * 2
    assert tracker.dropped_events == 0


def test_events_lead_from_one_sum_to_the_next() -> None:
    with tricodec.MemoryTracker(max_events=100_000) as tracker:
        in_use = tracker.allocators["host"].in_use_bytes
        frames = read(20)
        tricodec.Codec(algorithm="LZ4", device="cpu").encode(np.arange(1_000_000))

    signs = {"allocate": 1, "reuse": 1, "release": -1, "free": 0}
    times = []
    for event in tracker.events:
        assert event.allocator == "host"
        in_use += signs[event.action] * event.size_bytes
        assert event.in_use_bytes == in_use
        times.append(event.seconds)
    assert times == sorted(times)
    assert in_use == tracker.allocators["host"].in_use_bytes
    assert len(frames) == 20


def test_each_gpu_has_its_allocators(tmp_path: Path) -> None:
    with runner_with_driver(tmp_path, "import tricodec\n", FAKE_CUDA_GPUS="2") as run:
        run("""
        kinds = ["pinned", "device", "decoders"]
        assert tricodec.memory_stats() == {"host": (0, 0)}
        first = tricodec.Frame.from_planes([np.zeros((512, 512, 3), np.uint8)], "rgb24").to("cuda:1")
        stats = tricodec.memory_stats()
        assert [name for name in stats if name != "host"] == [f"{kind} cuda:1" for kind in kinds], stats
        with tricodec.MemoryTracker(max_events=100) as tracker:
            del first
            gc.collect()
            again = tricodec.Frame.from_planes([np.zeros((512, 512, 3), np.uint8)], "rgb24").to("cuda:1")
            other = tricodec.Frame.from_planes([np.zeros((512, 512, 3), np.uint8)], "rgb24").to("cuda:0")
        device = tracker.allocators["device cuda:1"]
        assert (device.in_use_bytes, device.idle_bytes, device.allocations, device.reuses) == (1 << 20, 0, 0, 1), device
        assert tracker.allocators["device cuda:0"][:4] == (1 << 20, 0, 1 << 20, 1), tracker.allocators
        actions = [event.action for event in tracker.events if event.allocator == "device cuda:1"]
        assert actions == ["release", "reuse"], actions
        """)


def test_a_tracker_that_was_not_entered_and_a_negative_number_are_refused() -> None:
    tracker = tricodec.MemoryTracker()
    assert str(tracker) == "MemoryTracker: nothing seen yet"
    with pytest.raises(RuntimeError, match=r"with tricodec\.MemoryTracker\(\)"):
        _ = tracker.allocators
    with pytest.raises(ValueError, match="max_events is -1"):
        tricodec.MemoryTracker(-1)
    with pytest.raises(TypeError):
        tricodec.MemoryTracker(1.5)  # type: ignore[arg-type]
