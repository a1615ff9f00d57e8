# SPDX-License-Identifier: Apache-2.0
"""Profiler, memory_required, explain and pinned_empty on a GPU, with stand-ins for the driver and for NVDEC."""

from __future__ import annotations

from collections.abc import Iterator

import media
import pytest
from gpu_helpers import Run, build_fake_decoder, runner_with_driver

pytestmark = [pytest.mark.needs_nvdec, pytest.mark.needs_kernels]

_PRELUDE = """
import gc, json, pathlib, tempfile, time
import tricodec
CLIP = {clip!r}

def peaks_of(num_workers, request):
    gc.collect()
    before = {name: use.in_use_bytes for name, use in tricodec.memory_stats().items()}
    with tricodec.FrameReader(CLIP, device="cuda", num_workers=num_workers) as reader:
        need = tricodec.memory_required(reader, **request)
        with tricodec.MemoryTracker() as tracker:
            if "batch_size" in request or "frames" in request:
                given = reader.batches(**request) if "batch_size" in request else iter(reader)
                for number, _ in enumerate(given):
                    if number == 0:
                        time.sleep(0.2)  # the decoders get ahead
            else:
                reader.batch(slice(request["count"]), size=request["size"])
    peaks = {name: use.peak_bytes - before.get(name, 0) for name, use in tracker.allocators.items()}
    return need, peaks["device cuda:0"], peaks["decoders cuda:0"]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = build_fake_decoder(tmp_path_factory.mktemp("driver"))
    prelude = _PRELUDE.replace("{clip!r}", repr(str(media.generated("h264_nob.mp4"))))
    with runner_with_driver(folder, prelude) as started:
        yield started


def test_decoders_and_kernels_are_timed_on_the_clock_of_the_calls(run: Run) -> None:
    run("""
    with tricodec.FrameReader(CLIP, device="cuda", num_workers=1) as reader:
        reader.batch(slice(32), size=(8, 8))
        with tricodec.Profiler() as profiler:
            time.sleep(0.02)
            reader.batch(slice(32), size=(8, 8))

    stages = profiler.stages
    assert {name: stages[name].frames for name in ("decode", "transform")} == {"decode": 32, "transform": 32}, stages
    assert 0 < stages["decode"].gpu_seconds < profiler.seconds
    assert 0 < stages["transform"].gpu_seconds < profiler.seconds
    on_gpu = [event for event in profiler.events if event.device == "cuda:0"]
    assert {event.stage: sum(e.frames for e in on_gpu if e.stage == event.stage) for event in on_gpu} == {
        "decode": 32, "transform": 32
    }
    assert all(0.02 <= event.begin_seconds <= profiler.seconds - event.seconds for event in on_gpu), on_gpu
    """)


@pytest.mark.parametrize("request_", [{"size": (64, 64), "count": 50}, {"batch_size": 8, "size": (96, 96)}])
def test_the_need_of_one_decoder_is_within_a_quarter_of_the_peak(run: Run, request_: dict[str, object]) -> None:
    run(f"""
    deadline = time.monotonic() + 20
    device = 0
    while not device or (device < 0.8 * need.device_bytes and time.monotonic() < deadline):  # a decoder may be late
        need, device, decoders = peaks_of(1, {request_!r})
    assert need.host_bytes == 0
    assert abs(need.device_bytes - device) <= 0.25 * device, (need, device)
    assert abs(need.decoder_bytes - decoders) <= 0.25 * decoders, (need, decoders)
    """)


def test_pinned_memory_is_locked_by_the_driver_and_kept(run: Run) -> None:
    run("""
    tricodec.pinned_empty((3, 1000), "float32")
    before = tricodec.memory_stats()["pinned cuda:0"].in_use_bytes
    array = tricodec.pinned_empty((3, 1000), "float32")
    assert array.shape == (3, 1000) and array.dtype == np.float32
    held = tricodec.memory_stats()["pinned cuda:0"].in_use_bytes - before
    assert 12000 <= held <= 16384, held
    del array
    assert tricodec.memory_stats()["pinned cuda:0"].in_use_bytes == before
    """)
