# SPDX-License-Identifier: Apache-2.0
"""What the DALI operators give of a file that decodes to fewer frames than its packets promise: 29 of 30."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import damaged_clips
import numpy as np
import pytest
import tricodec
from dali_testing import decode, pipeline, read_batches, reading_pipeline
from media import generated

pytestmark = pytest.mark.needs_dali

PROMISED = 30
LEFT = 29


@pytest.fixture(scope="module")
def shortened() -> bytes:
    return damaged_clips.without_frame_15()


@pytest.mark.parametrize("exec_dynamic", [True, False])
@pytest.mark.parametrize("on_error", ["raise", "empty"])
@pytest.mark.parametrize("start", [0, 11, -15])
def test_decode_video_gives_the_frames_that_are_left(
    start: int, on_error: str, exec_dynamic: bool, shortened: bytes
) -> None:
    good = generated("h264_bframes.mp4")
    words: dict[str, Any] = {"start": start, "size": (36, 64)}

    batch = decode(
        [good, shortened, good],
        **words,
        on_error=on_error,
        num_damaged_packets=True,
        options={"exec_dynamic": exec_dynamic},
    )

    for sample, source in zip(batch, (good, shortened, good), strict=True):
        expected = tricodec.decode_video(source, device="cpu", **words)
        assert np.array_equal(sample.frames, expected.frames)
        assert np.array_equal(sample.pts, expected.pts_seconds)
        assert sample.num_damaged_packets == expected.num_damaged_packets
    assert batch[1].frames.shape[0] == len(range(PROMISED)[:LEFT][start:])
    assert batch[1].num_damaged_packets > 0


def test_decode_video_gives_the_raw_frames_that_are_left(shortened: bytes) -> None:
    (sample,) = decode([shortened], format="yuv420p")

    with tricodec.FrameReader(shortened, device="cpu") as reader:
        frames = [frame.pack() for frame in reader]
    assert len(frames) == LEFT
    assert sample.frames.shape[0] == LEFT
    assert sample.frames.tobytes() == b"".join(frames)


@pytest.mark.parametrize("exec_dynamic", [True, False])
@pytest.mark.parametrize("on_error", ["raise", "empty"])
@pytest.mark.parametrize("in_a_batch", [True, False])
def test_decode_video_keeps_the_frames_of_a_sample_that_loses_most(
    in_a_batch: bool, on_error: str, exec_dynamic: bool
) -> None:
    damaged = damaged_clips.without_unneeded_frames()
    clips: list[Path | bytes] = [damaged, generated("h264_bframes.mp4")] if in_a_batch else [damaged]

    batch = decode(clips, start=14, size=(36, 64), on_error=on_error, options={"exec_dynamic": exec_dynamic})

    assert batch[0].frames.shape[0] == 4  # 18 frames are left, and 16 after the 14th are promised
    for sample, source in zip(batch, clips, strict=True):
        expected = tricodec.decode_video(source, device="cpu", start=14, size=(36, 64))
        assert np.array_equal(sample.frames, expected.frames)
        assert np.array_equal(sample.pts, expected.pts_seconds)


def test_decode_video_raises_for_a_count_that_is_not_there(shortened: bytes) -> None:
    pipe = pipeline([shortened], count=PROMISED)

    with pytest.raises(IndexError, match=rf"Sample 0 .*{PROMISED} frames .*damaged and has {LEFT} frames"):
        pipe.run()


def test_decode_video_empties_a_sample_whose_count_is_not_there(shortened: bytes) -> None:
    short, whole = decode([shortened, generated("h264_bframes.mp4")], count=PROMISED, size=(36, 64), on_error="empty")

    assert short.frames.shape == (0, 36, 64, 3)
    assert whole.frames.shape == (PROMISED, 36, 64, 3)


def test_read_video_raises_for_a_sequence_with_a_frame_that_is_not_there(shortened: bytes, tmp_path: Path) -> None:
    path = tmp_path / "shortened.mp4"
    path.write_bytes(shortened)
    pipe = reading_pipeline(batch_size=1, filenames=str(path), sequence_length=PROMISED)

    with pytest.raises(IndexError, match=rf"shortened\.mp4.*frame {LEFT} .*damaged and has {LEFT} frames"):
        pipe.run()


def test_read_video_empties_a_sequence_with_a_frame_that_is_not_there(shortened: bytes, tmp_path: Path) -> None:
    path = tmp_path / "shortened.mp4"
    path.write_bytes(shortened)

    (batch,) = read_batches(1, batch_size=1, filenames=str(path), sequence_length=PROMISED, on_error="empty")

    assert batch[0].frames.shape[0] == 0
