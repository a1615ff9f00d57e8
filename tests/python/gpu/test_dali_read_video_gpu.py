# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.read_video device "gpu" gives the bytes of the CPU, in the GPU's memory."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from dali_testing import Sequence, read_batches, reading_pipeline
from media import generated

pytestmark = [pytest.mark.needs_dali, pytest.mark.needs_gpu]

DECODED_BY_NVDEC = ["h264_bframes.mp4", "h264_one_gop.mp4", "hevc.mp4", "hevc10.mkv", "vp9.webm"]
DECODED_BY_CPU = ["h264_422_10.mkv", "av1.mp4"]


def expect_equal(actual: list[list[Sequence]], expected: list[list[Sequence]]) -> None:
    for mine, reference in zip(chain(*actual), chain(*expected), strict=True):
        assert mine.layout == reference.layout
        assert mine.source == reference.source
        np.testing.assert_array_equal(mine.frames, reference.frames)
        np.testing.assert_array_equal(mine.pts, reference.pts)
        assert len(mine.more) == len(reference.more)
        for one, other in zip(mine.more, reference.more, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def on_both(num_batches: int, **arguments: Any) -> None:
    expected = read_batches(num_batches, **arguments)
    expect_equal(read_batches(num_batches, device="gpu", **arguments), expected)


@pytest.mark.parametrize("max_open_files", [0, 2, 16])
def test_read_video_on_the_gpu_gives_shuffled_sequences_of_many_files(max_open_files: int) -> None:
    from nvidia.dali import types

    on_both(
        8, batch_size=6, filenames=[str(generated(name)) for name in DECODED_BY_NVDEC + DECODED_BY_CPU], labels=[],
        sequence_length=5, stride=2, step=4, random_shuffle=True, seed=7, max_open_files=max_open_files, size=(64, 48),
        dtype=types.FLOAT16, layout="CHW", enable_frame_num=True,
    )  # fmt: skip


@pytest.mark.parametrize("pad_mode", ["constant", "edge", "reflect_101"])
@pytest.mark.parametrize("dtype", ["UINT8", "FLOAT16", "FLOAT"])
def test_read_video_on_the_gpu_fills_up_the_last_sequence(pad_mode: str, dtype: str) -> None:
    from nvidia.dali import types

    on_both(
        1, batch_size=2, filenames=str(generated("hevc.mp4")), sequence_length=46, pad_mode=pad_mode, fill_value=9,
        size=(32, 48), dtype=getattr(types, dtype), enable_frame_num="sequence",
    )  # fmt: skip


@pytest.mark.parametrize(("name", "format"), [("h264_bframes.mp4", "nv12"), ("hevc10.mkv", "p010le")])
def test_read_video_on_the_gpu_gives_raw_frames(name: str, format: str) -> None:
    on_both(3, batch_size=2, filenames=str(generated(name)), sequence_length=6, format=format)


def test_read_video_on_the_gpu_goes_on_from_a_checkpoint() -> None:
    words: dict[str, Any] = {
        "device": "gpu", "filenames": str(generated("hevc.mp4")), "labels": [3], "sequence_length": 5, "size": (32, 32),
        "random_shuffle": True, "enable_frame_num": True, "batch_size": 3,
    }  # fmt: skip

    def numbers(pipe: Any) -> list[int]:
        return [int(value) for _ in range(6) for value in pipe.run()[3].as_cpu().as_array().ravel()]

    pipe = reading_pipeline(options={"enable_checkpointing": True}, **words)
    pipe.run()
    saved = pipe.checkpoint()
    expected = numbers(pipe)

    assert numbers(reading_pipeline(options={"enable_checkpointing": True, "checkpoint": saved}, **words)) == expected
