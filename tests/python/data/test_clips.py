# SPDX-License-Identifier: Apache-2.0
"""`tricodec.data.Dataset`: which clips it has, and their frames."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
import tricodec
from media import copied, ffprobe_times, generated, indexed

NAMES = ("av1.mp4", "h264_16x16.mp4", "h264_bframes.mp4", "hevc_open_gop.mkv", "vp9.webm")
SIZE = (48, 64)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.DatasetIndex:
    folder = copied(NAMES, tmp_path_factory.mktemp("videos"))
    (folder / "broken.mp4").write_bytes(b"broken")
    return tricodec.data.DatasetIndex(indexed(folder))


@pytest.fixture(scope="module")
def clips(index: tricodec.data.DatasetIndex) -> tricodec.data.Dataset:
    return tricodec.data.Dataset(index, clip_length=4, stride=2, step=3, size=SIZE)


def expected_clips(index: tricodec.data.DatasetIndex) -> list[tuple[str, int]]:
    """Path and first frame of each clip, by ffprobe's number of frames."""
    found = []
    for row in index:
        if row["path"] != "broken.mp4":
            num_frames = len(ffprobe_times(generated(row["path"])))
            found += [(row["path"], start) for start in range(0, num_frames, 3) if start + 6 < num_frames]
    return found


def test_clips_are_the_windows_that_lie_in_a_video(
    clips: tricodec.data.Dataset, index: tricodec.data.DatasetIndex
) -> None:
    expected = expected_clips(index)
    assert len(clips) == len(expected)
    for number in (0, len(clips) // 2, len(clips) - 1):
        clip = clips[number]
        assert (index[clip["video"]]["path"], clip["start"]) == expected[number]
        assert clip["clip"] == number


def test_frames_are_those_of_decode_video(clips: tricodec.data.Dataset, index: tricodec.data.DatasetIndex) -> None:
    numbers = random.Random(1).sample(range(len(clips)), 12)
    for number, clip in zip(numbers, clips.__getitems__(numbers), strict=True):
        video = tricodec.decode_video(
            index.source(clip["video"]), start=clip["start"], stride=2, count=4, size=SIZE, device="cpu"
        )
        assert clip["clip"] == number
        np.testing.assert_array_equal(clip["frames"], video.frames)
        np.testing.assert_array_equal(clip["pts_seconds"], video.pts_seconds)


def test_a_dataset_goes_to_other_processes(clips: tricodec.data.Dataset) -> None:
    copy = pickle.loads(pickle.dumps(clips))
    assert (len(copy), copy.fingerprint) == (len(clips), clips.fingerprint)
    expected = clips[5]["frames"]
    np.testing.assert_array_equal(copy[5]["frames"], expected)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(clips[5]["frames"], expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_state_of_other_clips_is_refused(
    index: tricodec.data.DatasetIndex, clips: tricodec.data.Dataset, tmp_path: Path
) -> None:
    state = tricodec.data.ClipSampler(clips, 2).state_dict()
    tricodec.data.ClipSampler(clips, 3, rank=1, num_ranks=2).load_state_dict(state)
    for other in (tricodec.data.Dataset(index, clip_length=5, stride=2, step=3), fewer(tmp_path)):
        with pytest.raises(ValueError, match="of other clips"):
            tricodec.data.ClipSampler(other, 2).load_state_dict(state)


def fewer(folder: Path) -> tricodec.data.Dataset:
    tricodec.data.DatasetIndex.build([generated("vp9.webm")], folder / "index.parquet")
    return tricodec.data.Dataset(folder / "index.parquet", clip_length=4, stride=2, step=3)
