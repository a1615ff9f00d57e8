# SPDX-License-Identifier: Apache-2.0
"""The names of torchcodec and decord, and requests of many threads, on a GPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import media
import numpy as np
import pytest
import tricodec
from tricodec_compat import sampling

pytestmark = pytest.mark.needs_gpu


@pytest.mark.needs_torch
def test_the_drop_ins_give_frames_on_a_gpu_within_three_levels_of_those_on_the_cpu() -> None:
    from tricodec_compat.decord import VideoReader, cpu, gpu
    from tricodec_compat.torchcodec.decoders import VideoDecoder

    clip = str(media.generated("h264_bframes.mp4"))
    numbers = [0, 7, 30]
    pairs = {
        "torchcodec": [
            VideoDecoder(clip, device=device).get_frames_at(numbers).data.cpu().numpy() for device in ("cuda", "cpu")
        ],
        "decord": [VideoReader(clip, ctx).get_batch(numbers).asnumpy() for ctx in (gpu(0), cpu(0))],
    }

    for package, (on_gpu, on_cpu) in pairs.items():
        assert np.abs(on_gpu.astype(np.int16) - on_cpu).max() <= 3, package


def test_of_many_requests_at_once_eight_hold_memory_of_the_gpu() -> None:
    path, result_bytes = str(media.generated("h264_bframes.mp4")), 16 * 1080 * 1920 * 3
    with tricodec.measure.MemoryTracker() as tracker, ThreadPoolExecutor(32) as pool:
        for done in [
            pool.submit(lambda: len(sampling.sample(path, device="cuda:0", num_frames=16, size=(1080, 1920))))
            for _ in range(64)
        ]:
            assert done.result() == 16

    assert tracker.allocators["device cuda:0"].peak_bytes < 16 * result_bytes
