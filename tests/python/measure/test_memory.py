# SPDX-License-Identifier: Apache-2.0
"""Memory: `memory_stats`, `MemoryTracker`, `memory_required` against its peaks, and `pinned_empty`."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tricodec
from gpu_helpers import runner_with_driver
from media import generated
from patience import wait_for_rest

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
    with tricodec.measure.MemoryTracker(max_events=1000) as tracker:
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
    with tricodec.measure.MemoryTracker(max_events=10_000) as tracker:
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
    with tricodec.measure.MemoryTracker(max_events=100_000) as tracker:
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
        with tricodec.measure.MemoryTracker(max_events=100) as tracker:
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
    tracker = tricodec.measure.MemoryTracker()
    assert str(tracker) == "MemoryTracker: nothing seen yet"
    with pytest.raises(RuntimeError, match=r"with tricodec\.measure\.MemoryTracker\(\)"):
        _ = tracker.allocators
    with pytest.raises(ValueError, match="max_events is -1"):
        tricodec.measure.MemoryTracker(-1)
    with pytest.raises(TypeError):
        tricodec.measure.MemoryTracker(1.5)  # type: ignore[arg-type]


if TYPE_CHECKING:
    from tricodec._tricodec import Source


def peak_of(reader: tricodec.FrameReader, request: dict[str, Any]) -> int:
    """Bytes of the host's allocator that a request takes at its peak, beyond those in use before."""
    batch_size = request.get("batch_size")
    transform = {name: value for name, value in request.items() if name not in ("batch_size", "count")}
    gc.collect()
    before = tricodec.memory_stats()["host"].in_use_bytes
    with tricodec.measure.MemoryTracker() as tracker:
        if batch_size is None:
            reader.batch(range(request.get("count", len(reader))), **transform)
        else:
            for number, _ in enumerate(reader.batches(batch_size, **transform)):
                if number == 0:
                    wait_for_rest(os.getpid())  # what is decoded ahead fills its bound
    return tracker.allocators["host"].peak_bytes - before


REQUESTS: list[dict[str, Any]] = [
    {"size": (96, 128)},
    {"size": (224, 224), "dtype": "float32", "layout": "CHW", "count": 20},
    {"batch_size": 8, "size": (224, 224)},
    {"batch_size": 16, "dtype": "float16"},
]


def peaks_of(
    source: Source, num_workers: int, request: dict[str, Any], need: tricodec.measure.MemoryRequired
) -> list[int]:
    """Peaks of runs, until one comes near the need: on a busy machine decoders may run one after another."""
    peaks: list[int] = []
    deadline = time.monotonic() + 20
    while not peaks or (max(peaks) < 0.8 * need.host_bytes and time.monotonic() < deadline):
        with tricodec.FrameReader(source, device="cpu", num_workers=num_workers) as reader:
            peaks.append(peak_of(reader, request))
    return peaks


def expect_near(need: tricodec.measure.MemoryRequired, peaks: list[int], batch_bytes: int = 0) -> None:
    """The need is at least the greatest peak, and within a quarter of it and the batch that a quick decoder adds."""
    assert need.device_bytes == need.decoder_bytes == 0
    assert peaks
    assert max(peaks) <= need.host_bytes <= 1.25 * max(peaks) + batch_bytes + 4096, (need, peaks)


@pytest.mark.parametrize(
    ("clip", "num_workers", "request_"),
    [
        ("h264_bframes.mp4", 1, REQUESTS[0]),
        ("hevc.mp4", 1, REQUESTS[1]),
        ("vp9.webm", 1, REQUESTS[0]),
        ("av1.mp4", 1, REQUESTS[3]),
        ("h264.ts", 2, REQUESTS[2]),
        ("h264_420_10.mkv", 2, REQUESTS[2]),
    ],
)
def test_the_answer_is_within_a_quarter_of_the_peak(clip: str, num_workers: int, request_: dict[str, Any]) -> None:
    need = tricodec.measure.memory_required(generated(clip), device="cpu", num_workers=num_workers, **request_)

    expect_near(need, peaks_of(generated(clip), num_workers, request_, need))


def test_limits_bound_what_is_decoded_ahead(restored_limits: None) -> None:
    request: dict[str, Any] = {"device": "cpu", "num_workers": 2, "batch_size": 2}
    before = tricodec.measure.memory_required(generated("h264_bframes.mp4"), **request)
    tricodec.set_limits(max_buffered_bytes=2 << 20)
    after = tricodec.measure.memory_required(generated("h264_bframes.mp4"), **request)

    assert after.host_bytes < before.host_bytes
    need = tricodec.measure.memory_required(generated("h264_bframes.mp4"), **request)
    expect_near(need, peaks_of(generated("h264_bframes.mp4"), 2, {"batch_size": 2}, need))


def test_a_result_past_the_limit_is_refused_before_it_takes_memory(restored_limits: None) -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cpu") as reader:
        need = tricodec.measure.memory_required(reader, size=(96, 128))
        tricodec.set_limits(max_output_bytes=50 * 96 * 128 * 3 - 1)
        before = tricodec.memory_stats()["host"].in_use_bytes
        with (
            tricodec.measure.MemoryTracker() as tracker,
            pytest.raises(tricodec.RefusedError, match="max_output_bytes"),
        ):
            reader.batch(range(50), size=(96, 128))

    assert tracker.allocators["host"].peak_bytes == before
    assert need.host_bytes > 50 * 96 * 128 * 3


def test_nothing_is_decoded_to_find_out() -> None:
    with tricodec.Profiler() as profiler:
        tricodec.measure.memory_required(generated("hevc.mp4"), device="cpu", batch_size=8, size=(96, 128))

    assert set(profiler.stages) <= {"index", "read"}


def test_requests_that_do_not_fit_are_refused() -> None:
    clip = generated("h264_bframes.mp4")
    with pytest.raises(ValueError, match=r"batch_size is 0; it must be at least 1"):
        tricodec.measure.memory_required(clip, device="cpu", batch_size=0)
    with pytest.raises(IndexError, match=r"50"):
        tricodec.measure.memory_required(clip, device="cpu", count=51)
    with tricodec.FrameReader(clip, device="cpu") as reader, pytest.raises(TypeError, match=r"device is an option"):
        tricodec.measure.memory_required(reader, device="cpu")


@pytest.fixture(autouse=True)
def _without_gpu() -> None:
    if "CUDA" in tricodec.build_info() and tricodec.video.resolve_device("auto") != "cpu":
        pytest.skip("a GPU is here: tests/python/gpu and tests/python/cuda test its memory")


@pytest.mark.parametrize(
    ("shape", "dtype"), [((2, 3, 4), "float32"), (7, np.uint8), ([5], "int64"), ((0, 4), "float16"), ((), "float64")]
)
def test_an_array_has_the_shape_and_the_dtype(shape: tuple[int, ...], dtype: str) -> None:
    array = tricodec.pinned_empty(shape, dtype)

    expected = np.empty(shape, dtype)
    assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
    assert array.flags.writeable
    assert array.flags.c_contiguous


def in_use_bytes() -> int:
    """Page-locked memory where there is a GPU, or ordinary memory."""
    uses = tricodec.memory_stats()
    return sum(uses[name].in_use_bytes for name in ("host", "pinned cuda:0") if name in uses)


def test_the_memory_is_counted_until_the_last_view_is_gone() -> None:
    gc.collect()
    before = in_use_bytes()
    array = tricodec.pinned_empty((1 << 20,), "float32")
    view = array[5:9]
    assert in_use_bytes() - before == 4 << 20
    del array
    assert in_use_bytes() - before == 4 << 20
    del view
    gc.collect()
    assert in_use_bytes() == before


def test_it_takes_a_result() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cpu") as reader:
        out = tricodec.pinned_empty((4, 48, 64, 3))
        assert reader.batch(range(4), size=(48, 64), out=out) is out
        assert np.array_equal(out, reader.batch(range(4), size=(48, 64)))


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape is \(2, -1\); sizes must be 0 or more"):
        tricodec.pinned_empty((2, -1))
    with pytest.raises(ValueError, match="shape has more than 64 sizes"):
        tricodec.pinned_empty(range(1 << 40))
    with pytest.raises(ValueError, match=r"dtype is object"):
        tricodec.pinned_empty(3, object)
    with pytest.raises(ValueError, match=r"device_index is -1"):
        tricodec.pinned_empty(3, device_index=-1)
