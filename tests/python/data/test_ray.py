# SPDX-License-Identifier: Apache-2.0
"""tricodec.data.ray on a node of Ray: the frames of decode_video, and the files of transcode."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tricodec
from media import copied, generated

# Ray's and pandas' own.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def one_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Ray gives a node 30 seconds to start; on a busy machine it takes another try."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, value in {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_DEDUP_LOGS": "0"}.items():
        monkeypatch.setenv(name, value)
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    for number in range(6):
        try:
            ray.init(num_cpus=2, log_to_driver=False, object_store_memory=100 << 20, include_dashboard=False)
            break
        except Exception as error:
            ray.shutdown()
            if number == 5 or not re.search(r"timed out|timeout|failed to start|Deadline", str(error), re.IGNORECASE):
                raise
    yield
    ray.shutdown()
    gc.collect()  # here, where Ray's warnings of what it left open are no errors


@pytest.mark.usefixtures("one_node")
def test_frames_and_jobs_are_those_of_one_machine(tmp_path: Path) -> None:
    """One test, since a start of Ray takes most of the time."""
    import tricodec.data.ray as cluster

    videos = copied(["h264_bframes.mp4", "h264.avi"], tmp_path / "videos")
    (videos / "none.mkv").write_bytes(bytes(1000))
    frames = cluster.read_video(videos, frames_per_block=12, size=(36, 64))
    rows = sorted(frames.take_all(), key=lambda row: (row["path"], row["number"]))

    expected = [
        (name, number, seconds, frame)
        for name in ("h264.avi", "h264_bframes.mp4")
        for video in [tricodec.decode_video(videos / name, size=(36, 64), device="cpu")]
        for number, (seconds, frame) in enumerate(zip(video.pts_seconds, video.frames, strict=True))
    ]
    assert [(row["path"], row["number"], row["seconds"]) for row in rows] == [each[:3] for each in expected]
    for row, (_, _, _, frame) in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(row["frames"], frame)

    rows = cluster.transcode(videos, tmp_path / "there", preset="ultrafast")
    assert {Path(row["output"]).name: bool(row["error"]) for row in rows} == {
        "h264.mp4": False, "h264_bframes.mp4": False, "none.mp4": True,
    }  # fmt: skip
    for name in ("h264.avi", "h264_bframes.mp4"):
        tricodec.transcode(videos / name, tmp_path / "here.mp4", device="cpu", num_threads=1, preset="ultrafast")
        there = tmp_path / "there" / f"{Path(name).stem}.mp4"
        assert there.read_bytes() == (tmp_path / "here.mp4").read_bytes()
    assert len(list((tmp_path / "there").iterdir())) == 2
    with pytest.raises(FileExistsError, match="resume=True"):
        cluster.transcode(videos, tmp_path / "there", preset="ultrafast")
    again = cluster.transcode(videos, tmp_path / "there", resume=True)
    assert [Path(row["source"]).name for row in again] == ["none.mkv"]


def test_wrong_options_are_refused_without_a_cluster(tmp_path: Path) -> None:
    import tricodec.data.ray as cluster

    with pytest.raises(TypeError, match="did you mean 'size'"):
        cluster.read_video("a.mp4", sise=(36, 64))
    with pytest.raises(TypeError, match="presett"):
        cluster.transcode(generated("h264_bframes.mp4"), tmp_path / "out", presett="fast")
    with pytest.raises(ValueError, match="frames_per_block is 0"):
        cluster.read_video("a.mp4", frames_per_block=0)
    assert not (tmp_path / "out").exists()
