# SPDX-License-Identifier: Apache-2.0
"""tricodec.data.ray on a real cluster: frames of decode_video, files of transcode, and a node that dies."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg, generated

# Ray's and pandas' own.
pytestmark = pytest.mark.filterwarnings("default")

PATIENCE_SECONDS = 300
_SMALL = {"object_store_memory": 100 << 20, "include_dashboard": False}


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Ray, not started, with settings for tests."""
    environment = pytest.MonkeyPatch()
    for name, value in {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_DEDUP_LOGS": "0"}.items():
        environment.setenv(name, value)
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test
    yield ray
    environment.undo()
    gc.collect()  # here, where Ray's warnings of what it left open are no errors


def patiently(start: Callable[[], Any], undo: Callable[[], Any] = lambda: None) -> Any:
    """A node, which Ray gives 30 seconds to start; on a busy machine it takes another try."""
    for _ in range(6):
        try:
            return start()
        except Exception as error:
            if not re.search(r"timed out|timeout|failed to start|Deadline", str(error), re.IGNORECASE):
                raise
            late = error
            undo()
    raise late


@pytest.fixture(scope="module")
def one_node(ray: Any) -> Iterator[None]:
    patiently(lambda: ray.init(num_cpus=2, log_to_driver=False, **_SMALL), ray.shutdown)
    yield
    ray.shutdown()


def checksums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.usefixtures("one_node")
def test_frames_and_jobs_are_those_of_one_machine(tmp_path: Path) -> None:
    """One test, since a start of Ray takes most of the time."""
    import tricodec.data.ray as cluster

    videos = tmp_path / "videos"
    videos.mkdir()
    for name in ("h264_bframes.mp4", "h264.avi"):
        shutil.copy(generated(name), videos)
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


def test_wrong_words_are_refused_without_a_cluster(tmp_path: Path) -> None:
    import tricodec.data.ray as cluster

    with pytest.raises(TypeError, match="sise"):
        cluster.read_video("a.mp4", sise=(36, 64))
    with pytest.raises(TypeError, match="presett"):
        cluster.transcode(generated("h264_bframes.mp4"), tmp_path / "out", presett="fast")
    with pytest.raises(ValueError, match="frames_per_block is 0"):
        cluster.read_video("a.mp4", frames_per_block=0)
    assert not (tmp_path / "out").exists()


@contextlib.contextmanager
def two_nodes(ray: Any) -> Iterator[tuple[Any, Any]]:
    from ray.cluster_utils import Cluster

    cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **_SMALL}))
    second = patiently(lambda: cluster.add_node(num_cpus=1, **_SMALL))
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        yield cluster, second
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.slow
def test_a_node_that_dies_loses_and_doubles_nothing(ray: Any, tmp_path: Path) -> None:
    import tricodec.data.ray as cluster

    videos, output, num_files = tmp_path / "videos", tmp_path / "out", 12
    videos.mkdir()
    for number in range(num_files):
        ffmpeg(
            f"-f lavfi -i testsrc2=s=320x180:r=25:d=4 -vf hue=h={30 * number} -c:v libx264", videos / f"{number}.mp4"
        )
    options: dict[str, Any] = {"preset": "veryslow", "size": (360, 640)}
    here = {"device": "cpu", "num_threads": 1, **options}
    with two_nodes(ray) as (nodes, second):
        ended: list[Any] = []
        job = threading.Thread(target=lambda: ended.append(cluster.transcode(videos, output, **options)), daemon=True)
        job.start()
        end = time.monotonic() + PATIENCE_SECONDS
        while len(list(output.glob("*.mp4"))) < 2:  # both nodes are at work
            assert time.monotonic() < end
            time.sleep(0.1)
        nodes.remove_node(second, allow_graceful=False)
        job.join(PATIENCE_SECONDS)
        assert ended, "the job has not ended"

    assert not any(row["error"] for row in ended[0])
    assert [row["output"] for row in ended[0]] == sorted(str(output / f"{number}.mp4") for number in range(num_files))
    assert len(checksums(output)) == num_files, "nothing else is there"
    (tmp_path / "here").mkdir()
    for number in range(num_files):
        tricodec.transcode(videos / f"{number}.mp4", tmp_path / "here" / f"{number}.mp4", **here)
    assert checksums(output) == checksums(tmp_path / "here"), "a task that ran twice gave the same bytes"


@pytest.mark.slow
def test_frames_are_whole_when_a_node_dies(ray: Any, tmp_path: Path) -> None:
    import tricodec.data.ray as cluster

    clip = tmp_path / "long.mp4"
    ffmpeg("-f lavfi -i testsrc2=s=640x360:r=25:d=60 -c:v libx264 -preset ultrafast -g 25", clip)
    with two_nodes(ray) as (nodes, second):
        seen: list[int] = []
        rows = cluster.read_video(clip, frames_per_block=50, size=(36, 64)).iter_rows()
        for row in rows:
            seen.append(int(row["number"]))
            if len(seen) == 100:
                nodes.remove_node(second, allow_graceful=False)

    assert sorted(seen) == list(range(60 * 25))
