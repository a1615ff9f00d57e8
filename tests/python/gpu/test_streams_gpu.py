# SPDX-License-Identifier: Apache-2.0
"""Order on a GPU: every reader of a result sees it complete, on whatever stream; memory is not given away early."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from forked import ON_GPU, PRELUDE
from gpu_helpers import busy
from media import generated

OPTIONS: dict[str, Any] = {"size": (180, 320), "dtype": "uint8"}
CLIP = "h264_bframes.mp4"


@pytest.fixture
def expected() -> Any:
    return tricodec.decode_video(media.generated(CLIP), device="cpu", **OPTIONS).frames


@pytest.mark.needs_torch
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


@pytest.mark.needs_torch
@pytest.mark.parametrize("milliseconds", [0, 60])
def test_a_consumers_stream_sees_complete_results_and_later_frames_do_not_overwrite_them(
    milliseconds: int, expected: Any
) -> None:
    import torch

    side = torch.cuda.Stream()
    copies = []
    for _ in range(6):
        with torch.cuda.stream(side):
            busy(side, milliseconds)
            batch = tricodec.decode_video(media.generated(CLIP), device="cuda", **OPTIONS).frames
            copies.append(torch.from_dlpack(batch).clone())  # queued, not done
        del batch
        gc.collect()
    side.synchronize()

    for copy in copies:
        np.testing.assert_array_equal(copy.cpu().numpy(), expected)


@pytest.mark.needs_torch
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


HEIGHT, WIDTH, NUM_FRAMES = 36, 64, 65  # two launches


@pytest.fixture
def planes() -> list[Any]:
    """The luma and the chroma of all pictures, on the GPU."""
    import torch

    shapes = [(NUM_FRAMES, HEIGHT, WIDTH), (NUM_FRAMES, HEIGHT // 2, WIDTH // 2, 2)]
    made = [torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda") for shape in shapes]
    torch.cuda.synchronize()
    return made


def frames_of(planes: list[Any]) -> list[tricodec.Frame]:
    return [tricodec.Frame.from_planes([luma, chroma], "nv12") for luma, chroma in zip(*planes, strict=True)]


@pytest.mark.needs_torch
def test_a_captured_call_transforms_what_the_memory_holds_at_each_replay(planes: list[Any]) -> None:
    import torch

    transform = tricodec.Transform(size=(24, 40), dtype="float16", layout="CHW", mean=0.5, std=0.25)
    frames = frames_of(planes)  # copies
    pixels = [[torch.from_dlpack(plane) for plane in frame.planes] for frame in frames]
    out = torch.zeros((NUM_FRAMES, 3, 24, 40), dtype=torch.float16, device="cuda")
    transform(frames, out)  # loads the kernels
    graph = torch.cuda.CUDAGraph()

    with torch.cuda.graph(graph):
        transform(frames, out, stream=torch.cuda.current_stream())

    for _ in range(3):
        for plane in (plane for frame in pixels for plane in frame):
            plane.random_(0, 256)
        graph.replay()
        on_host = [[plane.cpu().numpy() for plane in frame] for frame in pixels]
        wanted = transform([tricodec.Frame.from_planes(frame, "nv12") for frame in on_host])
        np.testing.assert_array_equal(out.cpu().numpy(), wanted)
    other = torch.zeros_like(out)
    transform(frames, other)
    torch.cuda.synchronize()
    assert torch.equal(out, other)  # calls outside the graph still work


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "hevc.mp4"])
def test_a_child_forked_after_a_gpu_was_used_raises_and_the_parent_goes_on(clip: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PRELUDE + ON_GPU, str(generated(clip))],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert (result.returncode, result.stdout) == (0, "2 on the GPU\n"), result.stderr
