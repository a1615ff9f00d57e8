# SPDX-License-Identifier: Apache-2.0
"""Calls of a `Transform` in CUDA graphs of PyTorch: replayed over new pixels, and refused without memory to keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tricodec

pytestmark = pytest.mark.needs_torch

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


def test_a_captured_call_that_would_allocate_its_result_is_refused(planes: list[Any]) -> None:
    import torch

    transform = tricodec.Transform(size=(24, 40))
    frames = frames_of(planes)
    transform(frames).wait()
    graph = torch.cuda.CUDAGraph()

    errors = []
    with torch.cuda.graph(graph):
        try:
            transform(frames, stream=torch.cuda.current_stream())
        except tricodec.UnsupportedError as error:
            errors.append(str(error))

    assert len(errors) == 1
    assert "pass out=" in errors[0]
