# SPDX-License-Identifier: Apache-2.0
"""StreamReader on tricodec's own engines: "cpu" does what a GPU does, with chunks in host memory."""

from __future__ import annotations

import media
import numpy as np
import pytest
import tricodec
from stream_testing import chunks_of
from tricodec.io import StreamReader

CLIP = "h264_bframes.mp4"


@pytest.mark.parametrize("frames_per_chunk", [7, -1])
@pytest.mark.parametrize("clip", [CLIP, "hevc.mp4", "h264_vfr.mkv"])
def test_an_engine_gives_the_samples_and_times_of_libavcodec(clip: str, frames_per_chunk: int) -> None:
    ours = chunks_of(clip, frames_per_chunk, hw_accel="cpu")
    theirs = chunks_of(clip, frames_per_chunk)

    assert [chunk.shape for chunk in ours] == [chunk.shape for chunk in theirs]
    assert [chunk.pts for chunk in ours] == pytest.approx([chunk.pts for chunk in theirs])
    for mine, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize(
    "description", ["format=pix_fmts=rgb24", "fps=10,scale=width=64:height=48,format=pix_fmts=gray"]
)
def test_filters_take_frames_of_an_engine(description: str) -> None:
    ours = np.concatenate(chunks_of(CLIP, hw_accel="cpu", filter_desc=description))

    np.testing.assert_array_equal(ours, np.concatenate(chunks_of(CLIP, filter_desc=description)))


@pytest.mark.parametrize("seconds", [0.0, 0.52, 1.4])
def test_an_engine_seeks_to_the_frame(seconds: float) -> None:
    chunks = []
    for options in ({"hw_accel": "cpu"}, {}):
        reader = StreamReader(media.generated(CLIP), arrays="numpy")
        reader.add_video_stream(4, **options)
        reader.fill_buffer()
        reader.process_all_packets()
        reader.seek(seconds)
        reader.fill_buffer()
        chunks.append(reader.pop_chunks()[0])

    assert chunks[0].pts == pytest.approx(chunks[1].pts)
    np.testing.assert_array_equal(chunks[0], chunks[1])


def test_a_damaged_packet_is_reported_and_the_rest_is_decoded() -> None:
    reader = StreamReader(media.generated("zeroed.h264"))
    reader.add_video_stream(-1, hw_accel="cpu")
    errors = 0

    while True:
        try:
            if reader.process_packet() == 1:
                break
        except tricodec.CorruptDataError:
            errors += 1

    (chunk,) = reader.pop_chunks()
    assert chunk is not None
    assert errors > 0
    assert len(chunk) > 10
