# SPDX-License-Identifier: Apache-2.0
"""tricodec.batch(): one output for each file, and a manifest that says what became of it."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg_frames, ffprobe, generated

FAST = {"preset": "ultrafast", "crf": 40}


def rows_of(path: Path) -> dict[str, dict[str, Any]]:
    """The last row of each output, as any program reads a manifest."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["output"]: row for row in rows}


def files_below(folder: Path) -> dict[str, str]:
    """The SHA-256 of all files of a folder but the manifest, hidden ones too."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.jsonl"
    }


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    """A folder with four videos, one of them cut off and one that is none, and a file that is no video by its name."""
    folder = tmp_path / "videos"
    (folder / "below").mkdir(parents=True)
    shutil.copy(generated("h264_bframes.mp4"), folder / "a.mp4")
    shutil.copy(generated("h264.mov"), folder / "below" / "b.mov")
    data = generated("h264.avi").read_bytes()
    (folder / "cut.avi").write_bytes(data[: len(data) * 2 // 3])
    (folder / "none.mkv").write_bytes(np.random.default_rng(1).bytes(5000))
    (folder / "notes.txt").write_text("no video")
    return folder


def test_each_file_gets_one_output_and_a_row(videos: Path, tmp_path: Path) -> None:
    output = tmp_path / "small"

    summary = tricodec.batch("transcode", videos, output, options={**FAST, "size": [90, 160]}, workers=2)

    rows = rows_of(Path(summary.manifest))
    assert {name: row["status"] for name, row in rows.items()} == {
        "a.mp4": "done", "below/b.mp4": "done", "cut.mp4": "damaged", "none.mp4": "unreadable",
    }  # fmt: skip
    assert summary.statuses == {"damaged": 1, "done": 2, "unreadable": 1}
    assert not summary.is_complete
    assert list(summary.errors) == [str(videos / "none.mkv")]
    assert files_below(output) == {name: row["sha256"] for name, row in rows.items() if "sha256" in row}
    for name, source in (("a.mp4", "a.mp4"), ("below/b.mp4", "below/b.mov")):
        assert rows[name]["size_bytes"] == (output / name).stat().st_size
        made = ffprobe(output / name, "-count_frames -show_entries stream=width,height,nb_read_frames")["streams"][0]
        assert (made["width"], made["height"]) == (160, 90)
        assert int(made["nb_read_frames"]) == rows[name]["num_frames"] == len(ffmpeg_frames(videos / source))


@pytest.mark.parametrize("manifest", ["manifest.jsonl", "rows.parquet"])
def test_a_file_that_no_job_wrote_is_not_replaced(manifest: str, videos: Path, tmp_path: Path) -> None:
    output = tmp_path / "facts"
    output.mkdir()
    (output / "a.json").write_bytes(b"old")

    for _ in range(2):  # the first call must not make it look like the output of a job
        with pytest.raises(FileExistsError, match=r"a\.json' exists, and no job wrote it.* name another output"):
            tricodec.batch("probe", videos / "a.mp4", output, manifest=output / manifest)

    assert [(each.name, each.read_bytes()) for each in output.iterdir()] == [("a.json", b"old")]


def test_a_job_that_is_repeated_makes_what_changed_or_is_gone(videos: Path, tmp_path: Path) -> None:
    output = tmp_path / "small"
    words: dict[str, Any] = {"options": {**FAST, "size": [90, 160]}, "workers": 1, "retries": 0}
    tricodec.batch("transcode", videos, output, **words)
    before, times = files_below(output), {path: path.stat().st_mtime_ns for path in output.rglob("*.mp4")}

    again = tricodec.batch("transcode", videos, output, **words)
    assert (again.num_made, again.num_kept) == (0, 4)
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*.mp4")} == times

    (output / "a.mp4").unlink()
    shutil.copy(generated("h264_audio.mp4"), videos / "below" / "b.mov")
    changed = tricodec.batch("transcode", videos, output, **words)
    after = files_below(output)
    assert (changed.num_made, changed.num_kept) == (2, 2)
    assert after["a.mp4"] == before["a.mp4"]
    assert after["below/b.mp4"] != before["below/b.mp4"]
    assert after["cut.mp4"] == before["cut.mp4"]

    other = tricodec.batch("transcode", videos, output, options={**FAST, "size": [60, 80]}, workers=1, retries=0)
    assert (other.num_made, other.num_kept) == (3, 0)


def test_an_output_of_the_right_size_and_other_bytes_is_found_by_its_checksum(videos: Path, tmp_path: Path) -> None:
    tricodec.batch("probe", videos / "a.mp4", tmp_path / "facts")
    made = tmp_path / "facts" / "a.json"
    right = made.read_bytes()
    made.write_bytes(right.replace(b"h264", b"H264"))

    assert tricodec.batch("probe", videos / "a.mp4", tmp_path / "facts").num_made == 0
    assert tricodec.batch("probe", videos / "a.mp4", tmp_path / "facts", check="sha256").num_made == 1
    assert made.read_bytes() == right


def test_compress_takes_all_files_and_they_come_back(videos: Path, tmp_path: Path) -> None:
    np.save(videos / "array.npy", np.arange(50_000, dtype="<i4"))

    summary = tricodec.batch("compress", videos, tmp_path / "packed", options={"algorithm": "lz4"}, workers=1)

    sources = [path for path in videos.rglob("*") if path.is_file()]
    assert summary.statuses == {"done": 6} == {"done": len(sources)}
    for source in sources:
        packed = tmp_path / "packed" / f"{source.relative_to(videos)}.tcz"
        tricodec.compress.decompress_file(packed, tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == source.read_bytes()


def test_frames_are_those_of_ffmpeg(videos: Path, tmp_path: Path) -> None:
    options = {"stride": 7, "color": "gray", "device": "cpu"}

    summary = tricodec.batch("frames", videos / "a.mp4", tmp_path / "frames", options=options)

    with np.load(tmp_path / "frames" / "a.npz") as made:
        frames, index, seconds = made["frames"], made["index"], made["seconds"]
    expected = tricodec.decode_video(videos / "a.mp4", stride=7, color="gray")
    times = [float(each["pts_time"]) for each in ffprobe(videos / "a.mp4", "-show_frames -select_streams v")["frames"]]
    np.testing.assert_array_equal(frames, expected.frames)
    np.testing.assert_array_equal(index, np.arange(0, len(times), 7))
    np.testing.assert_allclose(seconds, np.array(times)[::7], atol=1e-6)
    assert summary.num_frames == len(index)


def test_scene_cuts_and_streams_are_written_as_json(tmp_path: Path) -> None:
    clip = generated("h264_two_scenes.mp4")

    tricodec.batch("scene_cuts", clip, tmp_path, options={"device": "cpu"})
    cuts = json.loads((tmp_path / "h264_two_scenes.json").read_text())
    tricodec.batch("probe", clip, tmp_path / "facts")
    facts = json.loads((tmp_path / "facts" / "h264_two_scenes.json").read_text())

    assert [cut["frame"] for cut in cuts["cuts"]] == [25]
    assert cuts["cuts"][0]["seconds"] == pytest.approx(1.0)
    assert cuts["num_frames"] == 50
    assert facts["streams"][0]["width"] == 320


def test_an_index_and_a_parquet_manifest_go_together(videos: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    tricodec.DatasetIndex.build([videos], tmp_path / "index.parquet")
    manifest = tmp_path / "manifest.parquet"

    for num_made in (3, 0):
        summary = tricodec.batch("probe", tmp_path / "index.parquet", tmp_path / "facts", manifest=manifest)
        assert summary.num_made == num_made
        assert {path.name for path in tmp_path.iterdir()} == {"videos", "index.parquet", "facts", "manifest.parquet"}
    rows = pq.read_table(manifest).to_pylist()
    made = files_below(tmp_path / "facts")
    assert {row["output"]: row["sha256"] for row in rows} == made  # an index does not have what cannot be read
    assert sorted(made) == ["a.json", "below/b.json", "cut.json"]


@pytest.mark.parametrize("through_index", [False, True])
def test_videos_in_a_tar_archive_have_outputs_too(through_index: bool, videos: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "shard.tar", "w") as archive:
        archive.add(videos / "a.mp4", "first/a.mp4")
        archive.add(videos / "notes.txt", "first/a.txt")
    inputs = tmp_path / "shard.tar"
    if through_index:
        tricodec.DatasetIndex.build([inputs], tmp_path / "index.parquet")
        inputs = tmp_path / "index.parquet"

    tricodec.batch("frames", inputs, tmp_path / "made", options={"stride": 9, "device": "cpu", "chroma": "nearest"})

    (row,) = rows_of(tmp_path / "made" / "manifest.jsonl").values()
    assert (row["source"], row["status"]) == (str(tmp_path / "shard.tar/first/a.mp4"), "done"), row["error"]
    with np.load(tmp_path / "made" / row["output"]) as made:
        np.testing.assert_array_equal(
            made["frames"], tricodec.decode_video(videos / "a.mp4", stride=9, chroma="nearest").frames
        )


def test_outputs_in_a_folder_of_the_inputs_are_no_inputs(videos: Path) -> None:
    for num_made in (3, 0):
        summary = tricodec.batch("transcode", videos, videos / "made", options=FAST, workers=2)
        assert (summary.num_files, summary.num_made) == (4, num_made)


def test_outputs_of_a_private_file_are_private(videos: Path, tmp_path: Path) -> None:
    (videos / "a.mp4").chmod(0o600)

    tricodec.batch("probe", videos, tmp_path / "facts", workers=1)

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "facts").rglob("*.json")}
    assert modes["a.json"] == 0o600
    (tmp_path / "other").touch()
    assert modes["b.json"] == (tmp_path / "other").stat().st_mode & 0o777


def test_two_files_with_one_output_are_refused(videos: Path, tmp_path: Path) -> None:
    shutil.copy(videos / "a.mp4", videos / "a.mkv")

    with pytest.raises(ValueError, match=r"a\.mkv.*a\.mp4.*keep_suffix"):
        tricodec.batch("probe", videos, tmp_path / "facts")

    assert tricodec.batch("probe", videos, tmp_path / "facts", keep_suffix=True).num_made == 4
    assert (tmp_path / "facts" / "a.mkv.json").is_file()


def test_a_file_is_not_its_own_output(videos: Path) -> None:
    before = files_below(videos)

    with pytest.raises(ValueError, match="would replace itself"):
        tricodec.batch("transcode", videos, videos, options=FAST)

    assert files_below(videos) == before


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"job": "transcod"}, "did you mean 'transcode'"),
        ({"options": {"presett": "fast"}}, "did you mean 'preset'"),
        ({"options": {"device": "auto"}}, "name 'cpu' or 'cuda'"),
        ({"options": {"num_threads": 0}}, "bytes depend on it"),
        ({"options": {"codec": "h265x"}}, "h265x"),
        ({"options": {"size": b"no"}}, "plain numbers"),
        ({"job": "compress", "options": {"algorithm": "auto"}}, "same bytes"),
        ({"job": "scene_cuts", "options": {"threshold": 3}}, "0 to 1"),
        ({"job": "frames", "options": {"strde": 2}}, "did you mean 'stride'"),
        ({"job": "frames", "options": {"times": [1.0], "fps": 2}}, "fps"),
        ({"check": "sha1"}, "sha256"),
        ({"suffix": "mkv"}, r"\.mkv"),
        ({"inputs": []}, "inputs is empty"),
        ({"inputs": "nowhere"}, "nowhere"),
        ({"workers": -1}, "workers is -1"),
    ],
    ids=lambda value: None if isinstance(value, str) else "-".join(map(str, value)),
)
def test_wrong_words_are_refused_before_anything_is_written(change: dict[str, Any], text: str, tmp_path: Path) -> None:
    words = {"job": "transcode", "inputs": str(generated("h264_bframes.mp4")), "output": tmp_path / "out", **change}

    with pytest.raises((ValueError, TypeError, tricodec.Error), match=text):
        tricodec.batch(**words)

    assert not (tmp_path / "out").exists()
