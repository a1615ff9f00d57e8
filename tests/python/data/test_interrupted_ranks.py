# SPDX-License-Identifier: Apache-2.0
"""Ranks of a training are killed at random: no clip is lost, none comes twice, and frames are the same."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tricodec
from media import generated

pytestmark = pytest.mark.needs_torch

PROGRAM = Path(__file__).parents[1] / "helpers" / "interrupted_ranks.py"
NAMES = ("h264_16x16.mp4", "h264_bframes.mp4", "hevc_open_gop.mkv", "vp9.webm")


@pytest.mark.parametrize("num_kills", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_ranks_that_are_killed_lose_no_clip_and_repeat_none(tmp_path: Path, num_kills: int) -> None:
    videos, output = tmp_path / "videos", tmp_path / "records"
    videos.mkdir()
    output.mkdir()
    for name in NAMES:
        shutil.copy(generated(name), videos / name)
    index = tmp_path / "index.parquet"
    tricodec.data.DatasetIndex.build([videos], index)
    clips = tricodec.data.Dataset(index, clip_length=4, stride=2, step=3)

    run = subprocess.run(
        [sys.executable, PROGRAM, index, output, str(num_kills), "5"], capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr[-2000:]
    result = json.loads(run.stdout)
    assert result["kills"] >= num_kills
    assert result["epochs"]
    expected = expected_hashes(clips)
    orders = []
    for epoch in result["epochs"]:
        numbers = [int(number) for number, _ in epoch]
        assert sorted(numbers) == list(range(len(clips)))
        assert {int(number): frames for number, frames in epoch} == expected
        orders.append(numbers)
    assert len({tuple(order) for order in orders}) == len(orders)  # each epoch is another order


def expected_hashes(clips: tricodec.data.Dataset) -> dict[int, str]:
    """The SHA-256 of the frames of each clip, as decode_video gives them."""
    hashes = {}
    row_of = {row["path"]: number for number, row in enumerate(clips.index)}
    number = 0
    for path in sorted(row_of):
        num_frames = clips.index[row_of[path]]["num_frames"]
        for start in range(0, num_frames - 6, 3):
            video = tricodec.decode_video(generated(path), start=start, stride=2, count=4, size=(48, 64), device="cpu")
            hashes[number] = hashlib.sha256(video.frames.tobytes()).hexdigest()
            number += 1
    return hashes
