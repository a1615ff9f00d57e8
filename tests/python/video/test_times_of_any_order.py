# SPDX-License-Identifier: Apache-2.0
"""Times that do not rise with the frames: joined files, wrong time stamps, equal times, streams without any."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tricodec
from media import ffmpeg

_PICTURES = "-f lavfi -i testsrc2=s=96x64:d={}:r={}"


_RATE = 25


def _joined(folder: Path) -> Path:
    part, path = folder / "part.ts", folder / "joined.ts"
    ffmpeg(_PICTURES.format(6, _RATE), "-c:v libx264 -g 25 -bf 2", part)
    path.write_bytes(2 * part.read_bytes())
    return path


def test_doctor_names_videos_with_times_that_go_back(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    _joined(tmp_path / "videos")  # and the part that it is made of
    tricodec.DatasetIndex.build([tmp_path / "videos"], tmp_path / "index.parquet")
    index = tricodec.DatasetIndex(tmp_path / "index.parquet")
    findings = {each.name: each for each in index.examine().findings}
    assert findings["times_go_back"].details == ["at 1 frames"]
    assert [index.table["path"][row].as_py() for row in findings["times_go_back"].rows] == ["joined.ts"]


def test_frames_of_bare_streams_and_avi_know_their_times(tmp_path: Path) -> None:
    for name in ("a.h264", "a.m4v", "a.avi", "h.avi", "a.mpg"):
        path = tmp_path / name
        codec = {"a.h264": "libx264", "h.avi": "libx264", "a.mpg": "mpeg2video"}.get(name, "mpeg4")
        ffmpeg(_PICTURES.format(2, _RATE), f"-c:v {codec} -bf 2", path)
        with tricodec.FrameReader(path, device="cpu") as reader:
            times = [frame.pts_seconds for frame in reader]
            assert times == pytest.approx(reader.pts_seconds)
            assert [reader[i].pts_seconds for i in (0, 30, 7)] == pytest.approx(reader.pts_seconds[[0, 30, 7]])
            assert np.allclose(np.diff(times), 0.04, atol=0.0011)
