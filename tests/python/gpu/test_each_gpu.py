# SPDX-License-Identifier: Apache-2.0
"""Every GPU of the machine gives the CPU's results, in its own memory, whichever GPU the caller works on.

On a machine with one GPU these are tests of that one; none is skipped.
"""

from __future__ import annotations

from typing import Any

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec

CLIP = "h264_bframes.mp4"
MODEL_INPUT: dict[str, Any] = {"size": (64, 96), "dtype": "float16", "layout": "CHW"}


def count_gpus() -> int:
    """How many GPUs can be asked for; where there is none, the tests are skipped by another word."""
    count = 0
    while True:
        try:
            tricodec.resolve_device(f"cuda:{count}")
        except tricodec.DeviceError:
            return max(count, 1)
        count += 1


GPUS = range(count_gpus())


@pytest.fixture
def expected() -> np.ndarray:
    return np.asarray(tricodec.decode_video(media.generated(CLIP), device="cpu", **MODEL_INPUT).frames)


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", [CLIP, "hevc10.mkv", "vp9.webm"])
def test_frames_are_those_of_the_cpu(gpu: int, name: str) -> None:
    reader = tricodec.FrameReader(media.generated(name), device=f"cuda:{gpu}")

    frames = list(reader)

    wanted = list(tricodec.FrameReader(media.generated(name), device="cpu"))
    assert reader.device == f"cuda:{gpu}"
    assert {frame.__dlpack_device__() for frame in frames} == {(2, gpu)}
    assert [frame.md5() for frame in frames] == [one.convert(frames[0].format).md5() for one in wanted]


@pytest.mark.needs_torch
@pytest.mark.parametrize("current", GPUS)
@pytest.mark.parametrize("gpu", GPUS)
def test_the_callers_current_gpu_is_neither_used_nor_changed(gpu: int, current: int, expected: np.ndarray) -> None:
    import torch

    out = torch.zeros(expected.shape, dtype=torch.float16, device=f"cuda:{gpu}")
    with torch.cuda.device(current):
        reader = tricodec.FrameReader(media.generated(CLIP), device=f"cuda:{gpu}")
        tensor = torch.from_dlpack(reader.batch(slice(None), **MODEL_INPUT))
        reader.batch(slice(None), **MODEL_INPUT, out=out)
        after = torch.cuda.current_device()

    assert after == current
    assert tensor.device == torch.device("cuda", gpu)
    np.testing.assert_array_equal(tensor.cpu().numpy(), expected)
    np.testing.assert_array_equal(out.cpu().numpy(), expected)


@pytest.mark.needs_torch
@pytest.mark.parametrize("gpu", GPUS)
def test_pynvvideocodecs_gpu_id_is_taken(gpu: int) -> None:
    import torch

    decoder = nvc.SimpleDecoder(str(media.generated(CLIP)), gpu_id=gpu, use_device_memory=True)

    frames = [decoder[index] for index in range(5)]

    wanted = tricodec.FrameReader(media.generated(CLIP), device="cpu")
    for index, frame in enumerate(frames):
        tensor = torch.from_dlpack(frame)
        assert tensor.device == torch.device("cuda", gpu)
        assert tensor.cpu().numpy().tobytes() == bytes(wanted[index].convert("nv12").pack())
