# SPDX-License-Identifier: Apache-2.0
"""`tricodec.MemoryTracker` on a GPU: surfaces, results, page-locked memory and NVDEC's decoders."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import tricodec
from media import generated
from tricodec import sampling

CLIP = "h264_bframes.mp4"
BATCH_BYTES = 16 * 3 * 96 * 160 * 4


def test_a_batch_is_memory_of_the_gpu_and_a_decoder_is_kept_for_the_next_file() -> None:
    with tricodec.MemoryTracker(max_events=100_000) as tracker:
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


def test_a_pinned_result_is_page_locked_memory() -> None:
    def read() -> object:
        return tricodec.decode_video(generated(CLIP), device="cuda:0", count=16, size=(96, 160), pinned=True).frames

    read()
    with tricodec.MemoryTracker() as tracker:
        frames = read()

    assert tracker.allocators["pinned cuda:0"].reuses >= 1
    assert tracker.allocators["pinned cuda:0"].peak_bytes >= 16 * 96 * 160 * 3
    del frames


def test_of_many_requests_at_once_eight_hold_memory_of_the_gpu() -> None:
    path, result_bytes = str(generated(CLIP)), 16 * 1080 * 1920 * 3
    with tricodec.MemoryTracker() as tracker, ThreadPoolExecutor(32) as pool:
        for done in [
            pool.submit(lambda: len(sampling.sample(path, device="cuda:0", num_frames=16, size=(1080, 1920))))
            for _ in range(64)
        ]:
            assert done.result() == 16

    assert tracker.allocators["device cuda:0"].peak_bytes < 16 * result_bytes
