# SPDX-License-Identifier: Apache-2.0
"""Every frame of the streams of docs/explanation/exactness.md has the MD5 that an independent source states."""

from __future__ import annotations

import functools
import random
from pathlib import Path

import exact_pcm
import numpy as np
import pytest
import tricodec
from exact_encoded import NotInThisFfmpeg
from exact_streams import STREAMS, ExactStream

EXACT = [stream for stream in STREAMS if not stream.known]
ORDERED = {
    "h264_open.mkv", "h264_refresh.mp4", "h264_mbaff.h264", "h264_long_term.h264", "h264_reordered.h264",
    "h264_edit.mp4", "h264_422_10.ts", "hevc_open.mkv", "hevc_leading.hevc", "hevc_hidden.hevc", "hevc_layers.mp4",
    "hevc_444_12.mp4", "vp8_odd.webm", "vp9_parallel.webm", "vp9_shown_again.ivf", "vp9_440_10.webm",
    "av1.obu", "av1_forward.mp4", "av1_resilient.mp4", "av1_svt_grain.mp4",
}  # fmt: skip
"""Streams with pictures that depend on others in special ways, which random access has to know."""


def name_of(stream: object) -> str:
    return stream.name if isinstance(stream, ExactStream) else ""


@functools.cache
def made(name: str) -> tuple[Path, list[str]]:
    stream = next(stream for stream in STREAMS if stream.name == name)
    try:
        return stream.make()
    except NotInThisFfmpeg as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("stream", EXACT, ids=name_of)
def test_every_frame_has_its_md5(stream: ExactStream) -> None:
    path, expected = made(stream.name)
    with tricodec.FrameReader(path, device="cpu") as reader:
        assert [stream.digest(frame) for frame in reader] == expected
        assert len(reader) == len(expected)
        if stream.name != "h264_redundant.h264":  # which the decoder reports, since it leaves packets unused
            assert not reader.issues


@pytest.mark.parametrize("stream", [stream for stream in EXACT if stream.name in ORDERED], ids=name_of)
def test_every_frame_has_its_md5_in_any_order(stream: ExactStream) -> None:
    path, expected = made(stream.name)
    order = random.Random(3).sample(range(len(expected)), len(expected))
    with tricodec.FrameReader(path, device="cpu") as reader:
        for number in order[:4]:
            assert stream.digest(reader[number]) == expected[number], number
    with tricodec.FrameReader(path, device="cpu", num_workers=2) as reader:
        assert [stream.digest(frame) for frame in reader.frames(order)] == [expected[number] for number in order]


@pytest.mark.parametrize("stream", [stream for stream in EXACT if stream.name in ORDERED], ids=name_of)
def test_a_batch_has_the_pixels_of_its_exact_frames(stream: ExactStream) -> None:
    path, expected = made(stream.name)
    order = list(range(len(expected)))[::-3]
    transform = tricodec.Transform()
    with tricodec.FrameReader(path, device="cpu") as reader:
        batch = reader.batch(order)
        frames = reader.frames(order)

    assert [stream.digest(frame) for frame in frames] == [expected[number] for number in order]
    np.testing.assert_array_equal(batch, np.stack([transform(frame) for frame in frames]))


@pytest.mark.parametrize("slice_groups", [(1, 0, 17, 17), (1, 1)], ids=["interleaved", "dispersed"])
def test_flexible_macroblock_ordering_is_refused(slice_groups: tuple[int, ...]) -> None:
    groups = [range(18), range(18, 36)]
    stream = exact_pcm.h264(groups, profile=66, slice_groups=slice_groups)

    with (
        tricodec.FrameReader(bytes(stream.data), device="cpu") as reader,
        pytest.raises(tricodec.CorruptDataError, match="PPS"),
    ):
        list(reader)


def test_arbitrary_slice_order_is_reported_as_damage() -> None:
    stream = exact_pcm.h264([range(20, 36), range(7), range(7, 20)], profile=66)
    with tricodec.FrameReader(bytes(stream.data), device="cpu") as reader:
        list(reader)

        assert reader.issues
