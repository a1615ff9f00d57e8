# SPDX-License-Identifier: Apache-2.0
"""`on_damage` of `tricodec.data.Dataset`: clips of damaged, cut and missing videos."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated

SIZE = (45, 80)
GOP = 12  # of h264_bframes.mp4
DAMAGED_GOP = 2


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.DatasetIndex:
    """A whole video, one with damage in its third group of pictures, and one that is gone since it was indexed."""
    folder = tmp_path_factory.mktemp("videos")
    for name in ("a_whole", "b_damaged", "c_gone"):
        shutil.copy(generated("h264_bframes.mp4"), folder / f"{name}.mp4")
    with tricodec.FrameReader(folder / "b_damaged.mp4", device="cpu") as reader:
        _, _, offset, size, _ = reader._gops()[DAMAGED_GOP].tolist()
    data = bytearray((folder / "b_damaged.mp4").read_bytes())
    data[offset + 40 : offset + size // 2] = random.Random(1).randbytes(size // 2 - 40)
    (folder / "b_damaged.mp4").write_bytes(data)
    tricodec.data.DatasetIndex.build([folder], folder / "index.parquet")
    (folder / "c_gone.mp4").unlink()
    return tricodec.data.DatasetIndex(folder / "index.parquet")


@pytest.fixture(scope="module")
def damaged_inside(tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.DatasetIndex:
    """A video with damage in the middle of a group of pictures."""
    folder = tmp_path_factory.mktemp("videos")
    shutil.copy(generated("h264_bframes.mp4"), folder / "a.mp4")
    with tricodec.FrameReader(folder / "a.mp4", device="cpu") as reader:
        _, _, offset, size, _ = reader._gops()[1].tolist()
    data = bytearray((folder / "a.mp4").read_bytes())
    start = offset + 3 * size // 4
    data[start : start + 400] = random.Random(2).randbytes(400)
    (folder / "a.mp4").write_bytes(data)
    tricodec.data.DatasetIndex.build([folder], folder / "index.parquet")
    return tricodec.data.DatasetIndex(folder / "index.parquet")


def dataset(index: tricodec.data.DatasetIndex, **options: Any) -> tricodec.data.Dataset:
    """Clips without those that are damaged."""
    return tricodec.data.Dataset(index, clip_length=4, size=SIZE, on_damage="skip", **options)


def clips_of(clips: tricodec.data.Dataset, row: int) -> list[int]:
    return [number for number in range(len(clips)) if clips._clips.row(number) == row]


def damaged(clips: tricodec.data.Dataset) -> list[int]:
    """Clips of the damaged video that touch the damaged group."""
    start, end = DAMAGED_GOP * GOP, (DAMAGED_GOP + 1) * GOP
    return [n for place, n in enumerate(clips_of(clips, 1)) if 4 * place < end and 4 * place + 4 > start]


def test_a_damaged_or_missing_video_is_an_error_by_default(index: tricodec.data.DatasetIndex) -> None:
    clips = tricodec.data.Dataset(index, clip_length=4, size=SIZE)
    with pytest.raises(tricodec.CorruptDataError, match=r"b_damaged.mp4': its frames are damaged"):
        clips[damaged(clips)[0]]
    with pytest.raises(tricodec.MediaNotFoundError, match=r"c_gone"):
        clips[clips_of(clips, 2)[0]]
    with pytest.raises((tricodec.CorruptDataError, tricodec.MediaNotFoundError)):
        list(tricodec.data.ClipBatches(clips, 4))


def test_skip_leaves_damaged_clips_out_and_reports_them(index: tricodec.data.DatasetIndex) -> None:
    clips = dataset(index)
    batches = tricodec.data.ClipBatches(clips, 5, shuffle=False)
    assert len(batches) == -(-len(clips) // 5)
    given = list(batches)
    expected = damaged(clips) + clips_of(clips, 2)
    assert [each.clip for each in batches.skipped] == expected
    assert [(each.path, each.video) for each in batches.skipped[:1]] == [("b_damaged.mp4", 1)]
    assert "damaged" in batches.skipped[0].message
    assert len(given) == -(-len(clips) // 5)  # all ranks have as many steps
    assert [each.clip for batch in given for each in batch["skipped"]] == expected
    numbers = [number for batch in given for number in batch["clip"].tolist()]
    assert sorted(numbers + expected) == list(range(len(clips)))
    assert len(given[-1]["frames"]) == 0
    assert [clip["clip"] for clip in clips.__getitems__(range(len(clips)))] == numbers
    with pytest.raises(tricodec.CorruptDataError, match="is left out"):
        clips[expected[0]]


@pytest.mark.parametrize("name", ["index", "damaged_inside"])
def test_whole_clips_do_not_depend_on_what_was_read_before(name: str, request: pytest.FixtureRequest) -> None:
    index = request.getfixturevalue(name)
    clips = dataset(index, step=3)
    whole = {}
    for number in range(len(clips)):
        fresh = dataset(index, step=3)
        for clip in fresh.__getitems__([number]):
            whole[number] = clip["frames"]
        fresh.close()
    assert 0 < len(whole) < len(clips)
    for seed in range(3):
        for batch in tricodec.data.ClipBatches(clips, 7, seed=seed):
            for number, frames in zip(batch["clip"].tolist(), batch["frames"], strict=True):
                np.testing.assert_array_equal(frames, whole[number])


@pytest.mark.parametrize("name", ["truncated_faststart.mp4", "truncated.mkv"])
def test_the_frames_before_the_end_of_a_cut_file_are_whole(name: str, tmp_path: Path) -> None:
    shutil.copy(generated(name), tmp_path / name)
    tricodec.data.DatasetIndex.build([tmp_path], tmp_path / "index.parquet", read="packets")
    clips = tricodec.data.Dataset(tmp_path / "index.parquet", clip_length=4, on_damage="skip", size=SIZE)
    numbers = [clip["clip"] for clip in clips.__getitems__(range(len(clips)))]
    assert numbers[:2] == [0, 1]
    video = tricodec.decode_video(tmp_path / name, start=4, count=4, size=SIZE, device="cpu")
    np.testing.assert_array_equal(clips[1]["frames"], video.frames)
