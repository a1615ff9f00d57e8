# SPDX-License-Identifier: Apache-2.0
"""StreamReader with hw_accel: chunks in a GPU's memory hold what libavcodec decodes to host memory."""

from __future__ import annotations

import media
import numpy as np
import pytest
from stream_testing import chunks_of
from tricodec.io import StreamReader

pytestmark = pytest.mark.needs_torch

CLIPS = ("h264_bframes.mp4", "hevc.mp4", "vp9.webm")


@pytest.mark.parametrize("frames_per_chunk", [7, -1])
@pytest.mark.parametrize("clip", CLIPS)
def test_chunks_on_a_gpu_are_what_the_cpu_decodes(clip: str, frames_per_chunk: int) -> None:
    import torch

    ours = chunks_of(clip, frames_per_chunk, arrays="torch", hw_accel="cuda")
    theirs = chunks_of(clip, frames_per_chunk)

    assert all(chunk.is_cuda and chunk.dtype == torch.uint8 for chunk in ours)
    assert [chunk.pts for chunk in ours] == pytest.approx([chunk.pts for chunk in theirs])
    for mine, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine.cpu().numpy(), wanted)


@pytest.mark.parametrize("decoder", [None, "h264_cuvid"])
def test_filters_end_on_the_gpu(decoder: str | None) -> None:
    description = "scale=width=64:height=48,format=pix_fmts=rgb24"

    ours = chunks_of(CLIPS[0], arrays="torch", hw_accel="cuda:0", decoder=decoder, filter_desc=description)
    theirs = chunks_of(CLIPS[0], filter_desc=description)

    assert all(chunk.is_cuda for chunk in ours)
    assert [tuple(chunk.shape) for chunk in ours] == [chunk.shape for chunk in theirs]
    difference = np.abs(np.concatenate([chunk.cpu().numpy() for chunk in ours]).astype(int) - np.concatenate(theirs))
    assert difference.max() <= 1  # the scaler reads chroma side by side here, apart there


def test_a_seek_on_the_gpu_goes_to_the_frame() -> None:
    chunks = []
    for options in ({"hw_accel": "cuda"}, {}):
        reader = StreamReader(media.generated(CLIPS[0]), arrays="numpy")
        reader.add_video_stream(4, **options)
        reader.fill_buffer()
        reader.seek(0.52)
        reader.fill_buffer()
        chunks.append(reader.pop_chunks()[0])

    assert chunks[0].pts == pytest.approx(chunks[1].pts)
    np.testing.assert_array_equal(chunks[0].numpy(), chunks[1])
