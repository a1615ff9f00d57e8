# SPDX-License-Identifier: Apache-2.0
"""Which clips a `tricodec.data.Dataset` has: of whole videos, by rate, and in parts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tricodec
from media import copied, ffmpeg, ffprobe_times, generated, indexed
from tricodec.video.scenes import scene_cuts

SIZE = (24, 32)
VIDEOS = {"run/a.mp4": "h264_bframes.mp4", "run/b.mkv": "h264_vfr.mkv", "jump/c.webm": "vp9.webm"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.DatasetIndex:
    return tricodec.data.DatasetIndex(indexed(copied(VIDEOS, tmp_path_factory.mktemp("videos"))))


def path_of(index: tricodec.data.DatasetIndex, clip: dict[str, Any]) -> str:
    path: str = index[clip["video"]]["path"]
    return path


def test_clips_of_a_rate_show_what_is_on_screen_at_each_instant(index: tricodec.data.DatasetIndex) -> None:
    clips = tricodec.data.Dataset(index, clip_length=3, fps=7, step=2, size=SIZE)
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


def test_clips_stay_within_the_frames_of_a_part(index: tricodec.data.DatasetIndex) -> None:
    scenes = [{"path": "run/a.mp4", "start": 0, "count": 9}, {"path": "run/a.mp4", "start": 9, "count": 12}]
    clips = tricodec.data.Dataset(index, clip_length=4, parts=scenes, size=SIZE)
    assert [clips[number]["start"] for number in range(len(clips))] == [0, 4, 9, 13, 17]
    np.testing.assert_array_equal(
        clips[3]["frames"],
        tricodec.decode_video(generated("h264_bframes.mp4"), start=13, count=4, size=SIZE, device="cpu").frames,
    )


def test_clips_do_not_cross_a_cut_between_scenes(tmp_path: Path) -> None:
    shots = [f"-f lavfi -i color={name}:s=64x48:r=10:d={seconds}" for name, seconds in (("red", 1), ("blue", 0.7))]
    ffmpeg(*" ".join(shots).split(), "-filter_complex", "concat=n=2", *"-c:v libx264 -g 30".split(), tmp_path / "a.mp4")
    tricodec.data.DatasetIndex.build([tmp_path / "a.mp4"], tmp_path / "index.parquet")
    index = tricodec.data.DatasetIndex(tmp_path / "index.parquet")
    with index.reader(0) as reader:
        cuts = scene_cuts(reader)
    starts = [0, *cuts.frames.tolist(), cuts.num_frames]
    scenes = [{"path": "a.mp4", "start": start, "count": end - start} for start, end in pairwise(starts)]
    assert scenes == [{"path": "a.mp4", "start": 0, "count": 10}, {"path": "a.mp4", "start": 10, "count": 7}]
    clips = tricodec.data.Dataset(index, clip_length=4, parts=scenes)
    assert [clips[number]["start"] for number in range(len(clips))] == [0, 4, 10]
    for number in range(len(clips)):
        assert np.ptp(clips[number]["frames"].astype(int), axis=(0, 1, 2)).max() < 8


@pytest.mark.parametrize("name", VIDEOS)
def test_a_part_in_seconds_has_the_frames_that_decode_video_takes(index: tricodec.data.DatasetIndex, name: str) -> None:
    part = {"start_s": 0.35, "end_s": 1.1}
    clips = tricodec.data.Dataset(index, clip_length=1, parts=[{"path": name, **part}], size=SIZE)
    video = tricodec.decode_video(generated(VIDEOS[name]), **part, size=SIZE, device="cpu")
    assert [clips[number]["start"] for number in range(len(clips))] == list(video.indices)


def test_parts_come_from_mappings_or_a_table_and_clips_name_theirs(index: tricodec.data.DatasetIndex) -> None:
    table = pa.table({"path": ["jump/c.webm", "run/b.mkv"], "start": [2, 0], "count": [5, 3], "act": ["up", "go"]})
    for parts in (table, table.to_pylist()):
        clips = tricodec.data.Dataset(index, clip_length=2, parts=parts, size=SIZE)
        assert [(path_of(index, clips[n]), clips[n]["start"], clips[n]["part"]) for n in range(len(clips))] == [
            ("jump/c.webm", 2, 0), ("jump/c.webm", 4, 0), ("run/b.mkv", 0, 1),
        ]  # fmt: skip
        batch = next(iter(tricodec.data.ClipBatches(clips, 3, shuffle=False)))
        assert table["act"].take(pa.array(batch["part"])).to_pylist() == ["up", "up", "go"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clip_length": 2, "fps": 0}, "fps is 0"),
        ({"clip_length": 2, "parts": [{"path": "no.mp4"}]}, "'no.mp4', which is not in the index"),
        ({"clip_length": 2, "parts": [{"start": 2}]}, "needs the path"),
        ({"clip_length": 0}, "clip_length is 0; expected 1 or more"),
        ({"clip_length": 2, "step": 0}, "step is 0; expected 1 or more"),
        ({"clip_length": 2, "on_damage": "warn"}, "accepted are 'raise', 'skip'"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(index: tricodec.data.DatasetIndex, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tricodec.data.Dataset(index, **options)


def test_other_choices_are_other_clips_for_a_state(index: tricodec.data.DatasetIndex) -> None:
    part = [{"path": "run/a.mp4", "start": 0, "count": 9}]
    other = [{"path": "run/a.mp4", "start": 1, "count": 9}]
    choices: list[dict[str, Any]] = [
        {"clip_length": 2}, {"clip_length": 2, "fps": 5}, {"clip_length": 2, "fps": 5.5},
        {"clip_length": 2, "parts": part}, {"clip_length": 2, "parts": other}, {"clip_length": 2, "stride": 2},
    ]  # fmt: skip
    assert len({tricodec.data.Dataset(index, **options).fingerprint for options in choices}) == len(choices)
