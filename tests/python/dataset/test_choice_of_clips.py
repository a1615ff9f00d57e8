# SPDX-License-Identifier: Apache-2.0
"""Which clips a `tricodec.Dataset` has: by rate, by parts, by times; and their labels."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tricodec
from media import ffmpeg, ffprobe_times, generated

SIZE = (24, 32)
VIDEOS = {"run/a.mp4": "h264_bframes.mp4", "run/b.mkv": "h264_vfr.mkv", "jump/c.webm": "vp9.webm"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tricodec.DatasetIndex:
    folder = tmp_path_factory.mktemp("videos")
    for name, clip in VIDEOS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(generated(clip), folder / name)
    tricodec.DatasetIndex.build([folder], folder / "index.parquet")
    return tricodec.DatasetIndex(folder / "index.parquet")


def path_of(index: tricodec.DatasetIndex, clip: dict[str, Any]) -> str:
    path: str = index[clip["video"]]["path"]
    return path


def test_clips_of_a_rate_show_what_is_on_screen_at_each_instant(index: tricodec.DatasetIndex) -> None:
    clips = tricodec.Dataset(index, clip_length=3, fps=7, step=2, size=SIZE)
    found: dict[str, list[Any]] = {}
    for number in range(len(clips)):
        clip = clips[number]
        found.setdefault(path_of(index, clip), []).append(clip)
    for name, clip_name in VIDEOS.items():
        times = np.array(ffprobe_times(generated(clip_name)))
        row = next(row for row in index if row["path"] == name)
        end = row["start_seconds"] + row["duration_seconds"]
        instants = times[0] + np.arange(1000) / 7
        instants = instants[instants < end - 1e-6]
        on_screen = times[np.searchsorted(times, instants + 1e-6, "right") - 1]
        expected = [on_screen[start : start + 3] for start in range(0, len(instants) - 2, 2)]
        np.testing.assert_allclose([clip["pts_seconds"] for clip in found[name]], expected, atol=1e-6)
        first = found[name][1]
        video = tricodec.decode_video(generated(clip_name), times=first["pts_seconds"], size=SIZE, device="cpu")
        np.testing.assert_array_equal(first["frames"], video.frames)


def test_clips_stay_within_the_frames_of_a_part(index: tricodec.DatasetIndex) -> None:
    scenes = [{"path": "run/a.mp4", "start": 0, "count": 9}, {"path": "run/a.mp4", "start": 9, "count": 12}]
    clips = tricodec.Dataset(index, clip_length=4, parts=scenes, size=SIZE)
    assert [clips[number]["start"] for number in range(len(clips))] == [0, 4, 9, 13, 17]
    np.testing.assert_array_equal(
        clips[3]["frames"],
        tricodec.decode_video(generated("h264_bframes.mp4"), start=13, count=4, size=SIZE, device="cpu").frames,
    )


def test_clips_do_not_cross_a_cut_between_scenes(tmp_path: Path) -> None:
    shots = [f"-f lavfi -i color={name}:s=64x48:r=10:d={seconds}" for name, seconds in (("red", 1), ("blue", 0.7))]
    ffmpeg(*" ".join(shots).split(), "-filter_complex", "concat=n=2", *"-c:v libx264 -g 30".split(), tmp_path / "a.mp4")
    tricodec.DatasetIndex.build([tmp_path / "a.mp4"], tmp_path / "index.parquet")
    index = tricodec.DatasetIndex(tmp_path / "index.parquet")
    scenes = index.scenes()
    assert scenes == [{"path": "a.mp4", "start": 0, "count": 10}, {"path": "a.mp4", "start": 10, "count": 7}]
    clips = tricodec.Dataset(index, clip_length=4, parts=scenes)
    assert [clips[number]["start"] for number in range(len(clips))] == [0, 4, 10]
    for number in range(len(clips)):
        assert np.ptp(clips[number]["frames"].astype(int), axis=(0, 1, 2)).max() < 8


@pytest.mark.parametrize("name", VIDEOS)
def test_a_part_in_seconds_has_the_frames_that_decode_video_takes(index: tricodec.DatasetIndex, name: str) -> None:
    part = {"start_s": 0.35, "end_s": 1.1}
    clips = tricodec.Dataset(index, clip_length=1, parts=[{"path": name, **part}], size=SIZE)
    video = tricodec.decode_video(generated(VIDEOS[name]), **part, size=SIZE, device="cpu")
    assert [clips[number]["start"] for number in range(len(clips))] == list(video.indices)


def test_parts_and_labels_come_from_tables(index: tricodec.DatasetIndex, tmp_path: Path) -> None:
    table = pa.table({"path": ["jump/c.webm", "run/b.mkv"], "start": [2, 0], "count": [5, 3], "act": ["up", "go"]})
    pq.write_table(table, tmp_path / "parts.parquet")
    (tmp_path / "parts.csv").write_text("path,start,count,act\njump/c.webm,2,5,up\nrun/b.mkv,0,3,go\n")
    for parts in (table, tmp_path / "parts.parquet", str(tmp_path / "parts.csv")):
        clips = tricodec.Dataset(index, clip_length=2, parts=parts, labels="act", size=SIZE)
        assert [(path_of(index, clips[n]), clips[n]["start"], clips[n]["label"]) for n in range(len(clips))] == [
            ("jump/c.webm", 2, 1), ("jump/c.webm", 4, 1), ("run/b.mkv", 0, 0),
        ]  # fmt: skip
        assert clips.label_names == ["go", "up"]


def test_without_a_length_each_part_is_a_clip_with_the_words_of_decode_video(index: tricodec.DatasetIndex) -> None:
    words: list[dict[str, Any]] = [
        {"times": [0.3, 0.1], "policy": "on_screen"}, {"fps": 5, "start_s": 0.2, "end_s": 1.0}, {"num_frames": 3},
        {"indices": [4, 4, 1]},
    ]  # fmt: skip
    clips = tricodec.Dataset(index, parts=[{"path": "run/b.mkv", **each} for each in words], size=SIZE)
    for clip, each in zip(clips.__getitems__(range(len(clips))), words, strict=True):
        video = tricodec.decode_video(generated("h264_vfr.mkv"), **each, size=SIZE, device="cpu")
        np.testing.assert_array_equal(clip["frames"], video.frames)
        np.testing.assert_array_equal(clip["pts_seconds"], video.pts_seconds)
    assert sorted(len(batch["frames"]) for batch in clips.batches(3)) == [1, 3]
    assert len(pickle.loads(pickle.dumps(clips))[2]["frames"]) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "clip_length is missing"),
        ({"clip_length": 2, "fps": 0}, "fps is 0"),
        ({"parts": [], "stride": 2}, "name clip_length too"),
        ({"clip_length": 2, "parts": [{"path": "no.mp4"}]}, "'no.mp4', which is not in the index"),
        ({"clip_length": 2, "parts": [{"start": 2}]}, "needs the path"),
        ({"parts": [{"path": "run/a.mp4", "fps": 2, "num_frames": 3}]}, "fps"),
        ({"clip_length": 2, "labels": "sport"}, "neither 'folder', nor a column"),
        ({"clip_length": 2, "labels": {"run/a.mp4": 3}}, "'jump/c.webm' has no label"),
        ({"clip_length": 2, "labels": [1, 2]}, "labels has 2 values, and the index has 3 videos"),
        ({"clip_length": 2, "on_damage": "warn"}, "accepted are 'raise', 'skip', 'pad'"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(index: tricodec.DatasetIndex, words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tricodec.Dataset(index, **words)


def test_labels_are_names_of_folders_columns_mappings_lists_or_tables(
    index: tricodec.DatasetIndex, tmp_path: Path
) -> None:
    def labels(given: Any) -> tuple[list[Any], list[str]]:
        clips = tricodec.Dataset(index, clip_length=8, step=1000, labels=given, size=SIZE)
        return [clips[number]["label"] for number in range(len(clips))], clips.label_names

    assert [row["path"] for row in index] == ["jump/c.webm", "run/a.mp4", "run/b.mkv"]
    assert labels("folder") == ([0, 1, 1], ["jump", "run"])
    assert labels("codec") == ([1, 0, 0], ["h264", "vp9"])
    assert labels("width") == ([row["width"] for row in index], [])
    assert labels({"jump/c.webm": 7, "run/a.mp4": 3, "run/b.mkv": 5}) == ([7, 3, 5], [])
    assert labels([0.5, 1.5, 2.5]) == ([0.5, 1.5, 2.5], [])
    (tmp_path / "labels.csv").write_text("path,label\nrun/a.mp4,x\njump/c.webm,y\nrun/b.mkv,x\n")
    assert labels(tmp_path / "labels.csv") == ([1, 0, 0], ["x", "y"])
    (tmp_path / "other.csv").write_text("file,label\nrun/a.mp4,x\n")
    with pytest.raises(ValueError, match="has the columns file, label; expected path and label"):
        labels(tmp_path / "other.csv")


def test_a_batch_has_an_array_of_labels(index: tricodec.DatasetIndex) -> None:
    clips = tricodec.Dataset(index, clip_length=8, labels="folder", size=SIZE)
    for batch in clips.batches(4):
        assert batch["label"].dtype == np.int64
        expected = [index[row]["path"].startswith("run/") for row in batch["video"]]
        assert batch["label"].tolist() == expected


def test_other_choices_are_other_clips_for_a_state(index: tricodec.DatasetIndex) -> None:
    part = [{"path": "run/a.mp4", "start": 0, "count": 9}]
    other = [{"path": "run/a.mp4", "start": 1, "count": 9}]
    choices: list[dict[str, Any]] = [
        {"clip_length": 2}, {"clip_length": 2, "fps": 5}, {"clip_length": 2, "fps": 5.5},
        {"clip_length": 2, "parts": part}, {"clip_length": 2, "parts": other}, {"parts": part}, {"parts": other},
    ]  # fmt: skip
    assert len({tricodec.Dataset(index, **words).fingerprint for words in choices}) == len(choices)
