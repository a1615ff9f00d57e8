# SPDX-License-Identifier: Apache-2.0
"""`tricodec.data.LeRobotClips`: episodes of unequal length, several in a video file, in several files a camera."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tricodec
from media import ffmpeg

FPS = 10
LENGTHS = ((7, 12, 5), (9, 4))  # of the episodes of each video file
SIZE = 64
CAMERA = "observation.images.top"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set as LeRobot writes it; each frame is as bright as its row is late."""
    root = tmp_path_factory.mktemp("robot")
    rows: list[dict[str, Any]] = []
    episodes: list[dict[str, Any]] = []
    for file, lengths in enumerate(LENGTHS):
        starts = np.cumsum((0, *lengths)).tolist()
        write_video(root / f"videos/{CAMERA}/chunk-000/file-{file:03}.mp4", len(rows), sum(lengths))
        for (start, end), length in zip(pairwise(starts), lengths, strict=True):
            number = len(episodes)
            episodes.append(
                {
                    "episode_index": number, "length": length, "tasks": ["push"], "data/chunk_index": 0,
                    "data/file_index": number // 3, f"videos/{CAMERA}/chunk_index": 0,
                    f"videos/{CAMERA}/file_index": file, f"videos/{CAMERA}/from_timestamp": start / FPS,
                    f"videos/{CAMERA}/to_timestamp": end / FPS,
                }
            )  # fmt: skip
            rows += [
                {
                    "episode_index": number, "frame_index": frame, "timestamp": np.float32(frame / FPS),
                    "index": len(rows) + frame, "action": [float(len(rows) + frame), float(number)],
                }
                for frame in range(length)
            ]  # fmt: skip
    info = {
        "codebase_version": "v3.0", "fps": FPS,
        "features": {CAMERA: {"dtype": "video"}, "action": {"dtype": "float32"}},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    }  # fmt: skip
    (root / "meta").mkdir()
    (root / "meta" / "info.json").write_text(json.dumps(info))
    write_table(root / "meta/episodes/chunk-000/file-000.parquet", episodes[:2])
    write_table(root / "meta/episodes/chunk-000/file-001.parquet", episodes[2:])
    for file in (0, 1):
        write_table(
            root / f"data/chunk-000/file-{file:03}.parquet", [r for r in rows if r["episode_index"] // 3 == file]
        )
    return root


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    if "timestamp" in table.column_names:
        table = table.set_column(table.column_names.index("timestamp"), "timestamp", table["timestamp"].cast("float32"))
    pq.write_table(table, path)


def write_video(path: Path, first: int, count: int) -> None:
    """Frames of one gray each: 16 + 5 times the number of the row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    gray = (16 + 5 * np.arange(first, first + count)).astype(np.uint8)
    pixels = np.broadcast_to(gray[:, None, None], (count, SIZE, SIZE)).tobytes()
    raw = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{SIZE}x{SIZE}", "-r", str(FPS), "-i", "-"]
    ffmpeg(*raw, *"-vf scale=out_range=tv,format=yuv420p -c:v libx264 -g 2 -bf 0 -qp 1 -y".split(), path, stdin=pixels)


def row_of(frame: Any) -> int:
    """The row that a frame shows."""
    return round((float(np.asarray(frame, np.float64).mean()) - 16) / 5)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.usefixtures("cache")
def test_each_clip_shows_the_rows_of_its_episode(root: Path) -> None:  # V158
    clips = tricodec.data.LeRobotClips(root, clip_length=3, stride=2, step=1, columns=["action", "index"])
    expected, first = [], 0
    for number, length in enumerate(sum(LENGTHS, ())):
        expected += [(number, start, first + start) for start in range(length - 4)]
        first += length
    assert len(clips) == len(expected)
    for clip, (episode, start, row) in zip(clips.__getitems__(range(len(clips))), expected, strict=True):
        wanted = [row, row + 2, row + 4]
        assert (clip["episode"], clip["frame_index"]) == (episode, start)
        assert [row_of(frame) for frame in clip["frames"]] == wanted
        assert clip["index"].tolist() == wanted
        assert clip["action"].tolist() == [[each, episode] for each in wanted]


@pytest.mark.usefixtures("cache")
def test_episodes_are_chosen_and_batches_hold_their_columns(root: Path) -> None:
    clips = tricodec.data.LeRobotClips(root, clip_length=4, episodes=[4, 1], columns=["action"], camera=CAMERA)
    assert [clips[number]["episode"] for number in range(len(clips))] == [1, 1, 1, 4]
    batch = next(iter(tricodec.data.ClipBatches(pickle.loads(pickle.dumps(clips)), 4, shuffle=False)))
    assert batch["frames"].shape == (4, 4, SIZE, SIZE, 3)
    assert batch["action"].shape == (4, 4, 2)
    assert batch["episode"].tolist() == [1, 1, 1, 4]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"camera": "left"}, "camera is 'left'; the videos of .* are 'observation.images.top'"),
        ({"episodes": [9]}, "no episode 9"),
        ({"columns": ["force"]}, "no column force; it has episode_index"),
        ({"stride": 0}, "stride is 0"),
        ({"clip_length": 100}, "no clip: .* episodes of .* are shorter than a clip"),
    ],
)
def test_wrong_choices_are_refused(root: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tricodec.data.LeRobotClips(root, **{"clip_length": 2, **options})


@pytest.mark.usefixtures("cache")
def test_a_row_without_a_frame_at_its_time_is_an_error(root: Path) -> None:  # V159, V161
    clips = tricodec.data.LeRobotClips(root, clip_length=2)
    clips._episodes.starts[0] += 0.03
    with pytest.raises(IndexError, match="tolerance"):
        clips[0]


def test_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text('{"codebase_version": "v2.1"}')
    with pytest.raises(ValueError, match=r"version v2\.1; version 3 is read"):
        tricodec.data.LeRobotClips(tmp_path, clip_length=2)
