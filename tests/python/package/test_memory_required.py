# SPDX-License-Identifier: Apache-2.0
"""`tricodec.memory_required`: its answer against the peak that a MemoryTracker sees when the request runs."""

from __future__ import annotations

import dataclasses
import gc
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import tricodec
from media import generated
from patience import wait_for_rest

if TYPE_CHECKING:
    from tricodec._tricodec import Source


@pytest.fixture
def restored_limits() -> Iterator[None]:
    """The limits of the process as they were."""
    limits = tricodec.get_limits()
    yield
    tricodec.set_limits(**dataclasses.asdict(limits))


def peak_of(reader: tricodec.FrameReader, request: dict[str, Any]) -> int:
    """Bytes of the host's allocator that a request takes at its peak, beyond those in use before."""
    batch_size, frames = request.get("batch_size"), request.get("frames", False)
    transform = {name: value for name, value in request.items() if name not in ("batch_size", "frames", "count")}
    gc.collect()
    before = tricodec.memory_stats()["host"].in_use_bytes
    with tricodec.MemoryTracker() as tracker:
        if batch_size is None and not frames:
            reader.batch(range(request.get("count", len(reader))), **transform)
        else:
            given = iter(reader) if frames else reader.batches(batch_size, **transform)
            for number, _ in enumerate(given):
                if number == 0:
                    wait_for_rest(os.getpid())  # what is decoded ahead fills its bound
    return tracker.allocators["host"].peak_bytes - before


REQUESTS: list[dict[str, Any]] = [
    {"size": (96, 128)},
    {"size": (224, 224), "dtype": "float32", "layout": "CHW", "count": 20},
    {"batch_size": 8, "size": (224, 224)},
    {"batch_size": 16, "dtype": "float16"},
    {"frames": True},
]


def peaks_of(source: Source, num_workers: int, request: dict[str, Any], need: tricodec.MemoryRequired) -> list[int]:
    """Peaks of runs, until one comes near the need: on a busy machine decoders may run one after another."""
    peaks: list[int] = []
    deadline = time.monotonic() + 20
    while not peaks or (max(peaks) < 0.8 * need.host_bytes and time.monotonic() < deadline):
        with tricodec.FrameReader(source, device="cpu", num_workers=num_workers) as reader:
            peaks.append(peak_of(reader, request))
    return peaks


def expect_near(need: tricodec.MemoryRequired, peaks: list[int], batch_bytes: int = 0) -> None:
    """The need is at least the greatest peak, and within a quarter of it and the batch that a quick decoder adds."""
    assert need.device_bytes == need.decoder_bytes == 0
    assert peaks
    assert max(peaks) <= need.host_bytes <= 1.25 * max(peaks) + batch_bytes + 4096, (need, peaks)


@pytest.mark.parametrize(
    ("clip", "num_workers", "request_"),
    [
        ("h264_bframes.mp4", 1, REQUESTS[0]),
        ("hevc.mp4", 1, REQUESTS[1]),
        ("vp9.webm", 1, REQUESTS[4]),
        ("av1.mp4", 1, REQUESTS[3]),
        ("h264.ts", 2, REQUESTS[2]),
        ("h264_420_10.mkv", 2, REQUESTS[4]),
    ],
)
def test_the_answer_is_within_a_quarter_of_the_peak(clip: str, num_workers: int, request_: dict[str, Any]) -> None:
    need = tricodec.memory_required(generated(clip), device="cpu", num_workers=num_workers, **request_)

    expect_near(need, peaks_of(generated(clip), num_workers, request_, need))


def test_limits_bound_what_is_decoded_ahead(restored_limits: None) -> None:
    request: dict[str, Any] = {"device": "cpu", "num_workers": 2, "batch_size": 2}
    before = tricodec.memory_required(generated("h264_bframes.mp4"), **request)
    tricodec.set_limits(max_buffered_bytes=2 << 20)
    after = tricodec.memory_required(generated("h264_bframes.mp4"), **request)

    assert after.host_bytes < before.host_bytes
    need = tricodec.memory_required(generated("h264_bframes.mp4"), **request)
    expect_near(need, peaks_of(generated("h264_bframes.mp4"), 2, {"batch_size": 2}, need))


def test_a_result_past_the_limit_is_refused_before_it_takes_memory(restored_limits: None) -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cpu") as reader:
        need = tricodec.memory_required(reader, size=(96, 128))
        tricodec.set_limits(max_output_bytes=50 * 96 * 128 * 3 - 1)
        before = tricodec.memory_stats()["host"].in_use_bytes
        with tricodec.MemoryTracker() as tracker, pytest.raises(tricodec.RefusedError, match="max_output_bytes"):
            reader.batch(range(50), size=(96, 128))

    assert tracker.allocators["host"].peak_bytes == before
    assert need.host_bytes > 50 * 96 * 128 * 3


def test_nothing_is_decoded_to_find_out() -> None:
    with tricodec.Profiler() as profiler:
        tricodec.memory_required(generated("hevc.mp4"), device="cpu", batch_size=8, size=(96, 128))

    assert set(profiler.stages) <= {"index", "read"}


def test_requests_that_do_not_fit_are_refused() -> None:
    clip = generated("h264_bframes.mp4")
    with pytest.raises(ValueError, match=r"frames=True is given with batch_size"):
        tricodec.memory_required(clip, frames=True, batch_size=3)
    with pytest.raises(ValueError, match=r"frames=True is given with size"):
        tricodec.memory_required(clip, frames=True, size=(8, 8))
    with pytest.raises(ValueError, match=r"batch_size is 0; it must be at least 1"):
        tricodec.memory_required(clip, device="cpu", batch_size=0)
    with pytest.raises(IndexError, match=r"50"):
        tricodec.memory_required(clip, device="cpu", count=51)
    with tricodec.FrameReader(clip, device="cpu") as reader, pytest.raises(TypeError, match=r"device is an option"):
        tricodec.memory_required(reader, device="cpu")
