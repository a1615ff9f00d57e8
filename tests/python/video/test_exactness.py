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
@pytest.mark.sweep(6)
def test_every_frame_has_its_md5(stream: ExactStream) -> None:
    path, expected = made(stream.name)
    with tricodec.FrameReader(path, device="cpu") as reader:
        assert [stream.digest(frame) for frame in reader] == expected
        assert len(reader) == len(expected)
        if stream.name != "h264_redundant.h264":  # which the decoder reports, since it leaves packets unused
            assert not reader.issues


@pytest.mark.parametrize("stream", EXACT, ids=name_of)
@pytest.mark.sweep(6)
def test_every_frame_has_its_md5_in_any_order(stream: ExactStream) -> None:
    path, expected = made(stream.name)
    order = random.Random(3).sample(range(len(expected)), len(expected))
    with tricodec.FrameReader(path, device="cpu") as reader:
        for number in order[:4]:
            assert stream.digest(reader[number]) == expected[number], number
    with tricodec.FrameReader(path, device="cpu", num_workers=2) as reader:
        assert [stream.digest(frame) for frame in reader.frames(order)] == [expected[number] for number in order]


@pytest.mark.parametrize(
    "stream", [stream for stream in EXACT if "sizes" not in stream.name and "scaled" not in stream.name], ids=name_of
)
@pytest.mark.sweep(6)
def test_a_batch_has_the_pixels_of_its_exact_frames(stream: ExactStream) -> None:
    path, expected = made(stream.name)
    order = list(range(len(expected)))[::-3]
    transform = tricodec.Transform()
    with tricodec.FrameReader(path, device="cpu") as reader:
        batch = reader.batch(order)
        frames = reader.frames(order)

    assert [stream.digest(frame) for frame in frames] == [expected[number] for number in order]
    np.testing.assert_array_equal(batch, np.stack([transform(frame) for frame in frames]))


def test_what_differs_with_sao_of_small_blocks_is_chroma() -> None:
    stream = next(stream for stream in STREAMS if stream.name == "hevc_ctu16.mp4")
    path, expected = made(stream.name)
    with tricodec.FrameReader(path, device="cpu") as reader:
        luma = [stream.digest(frame)[:32] for frame in reader]

    assert luma == [digest[:32] for digest in expected]


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
