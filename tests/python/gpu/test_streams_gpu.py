# SPDX-License-Identifier: Apache-2.0
"""Order on a GPU: every reader of a result sees it complete, on whatever stream; memory is not given away early."""

from __future__ import annotations

import gc
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from gpu_helpers import busy

pytestmark = pytest.mark.needs_torch

OPTIONS: dict[str, Any] = {"size": (180, 320), "dtype": "uint8"}
CLIP = "h264_bframes.mp4"


@pytest.fixture
def expected() -> Any:
    return tricodec.decode_video(media.generated(CLIP), device="cpu", **OPTIONS).frames


def test_a_consumers_stream_sees_complete_results(expected: Any) -> None:
    import torch

    side = torch.cuda.Stream()
    for _ in range(5):
        with torch.cuda.stream(side):
            copy = torch.from_dlpack(
                tricodec.decode_video(media.generated(CLIP), device="cuda", **OPTIONS).frames
            ).clone()
        side.synchronize()
        np.testing.assert_array_equal(copy.cpu().numpy(), expected)


@pytest.mark.alone
def test_a_callers_stream_orders_out_on_both_sides_and_is_not_waited_for(expected: Any) -> None:
    import torch

    side = torch.cuda.Stream()
    reader = tricodec.FrameReader(media.generated(CLIP), device="cuda")
    for _ in range(2):
        reader.batch(slice(None), **OPTIONS)  # makes sessions and loads kernels
    with torch.cuda.stream(side):
        out = torch.empty(expected.shape, dtype=torch.uint8, device="cuda")
        # The driver loads PyTorch's kernels when they are first wanted, and waits for all work then.
        out.fill_(0).clone()
        side.synchronize()
        busy(side, 2000)
        out.fill_(7)  # queued before: must not come after the frames
        reader.batch(slice(None), out=out, stream=side, **OPTIONS)
        copy = out.clone()  # queued after: sees the frames
        still_busy = not side.query()
    side.synchronize()

    assert still_busy, "the call waited for the stream"
    np.testing.assert_array_equal(copy.cpu().numpy(), expected)


def test_memory_that_a_busy_stream_reads_is_not_written_to_by_later_frames(expected: Any) -> None:
    import torch

    side = torch.cuda.Stream()
    copies = []
    for _ in range(6):
        with torch.cuda.stream(side):
            busy(side, 60)
            batch = tricodec.decode_video(media.generated(CLIP), device="cuda", **OPTIONS).frames
            copies.append(torch.from_dlpack(batch).clone())  # queued, not done
        del batch
        gc.collect()
    side.synchronize()

    for copy in copies:
        np.testing.assert_array_equal(copy.cpu().numpy(), expected)


@pytest.mark.alone
def test_device_memory_is_steady_over_many_files() -> None:
    import torch

    def used() -> int:
        gc.collect()
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return int(total - free)

    names = ("h264_bframes.mp4", "hevc.mp4", "vp9.webm", "h264_16x16.mp4")

    def round_of_files() -> None:
        for name in names:
            with tricodec.FrameReader(media.generated(name), device="auto") as reader:
                for batch in reader.batches(16, size=(64, 64)):
                    torch.from_dlpack(batch)

    for _ in range(3):
        round_of_files()
    before = used()
    for _ in range(30):
        round_of_files()

    assert used() - before <= 64 << 20
