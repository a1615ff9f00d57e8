# SPDX-License-Identifier: Apache-2.0
"""`tricodec.data.DatasetIndex`: rows that agree with ffprobe, readers that read no packets, updates."""

from __future__ import annotations

import pickle
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import copied, ffmpeg, ffmpeg_framemd5, ffprobe, ffprobe_times, generated
from range_server import RangeServer

CLIPS = (
    "h264_bframes.mp4", "h264_faststart.mp4", "h264_fragmented.mp4", "h264_audio.mp4", "h264_nonzero_start.mp4",
    "hevc.mp4", "hevc_open_gop.mkv", "vp9.webm", "av1.mp4", "mpeg2.ts", "h264.avi", "h264_vfr.mkv", "h264_rot90.mp4",
)  # fmt: skip
DAMAGED = {
    "truncated.mp4": "unreadable", "truncated_faststart.mp4": "cut", "truncated.mkv": "cut",
    "audio_only.m4a": "unreadable",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips of all kinds in two folders, with damaged ones and files that are no videos."""
    folder = tmp_path_factory.mktemp("videos")
    (folder / "more").mkdir()
    for number, name in enumerate([*CLIPS, *DAMAGED]):
        shutil.copy(generated(name), (folder / "more" if number % 2 else folder) / name)
    (folder / "notes.txt").write_text("not a video")
    (folder / "text.mp4").write_text("not a video either")
    (folder / "empty.mp4").touch()
    return folder


@pytest.fixture(scope="module")
def index(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.DatasetIndex:
    output = tmp_path_factory.mktemp("index") / "videos.parquet"
    tricodec.data.DatasetIndex.build([folder, *folder.rglob("audio_only.m4a")], output)
    return tricodec.data.DatasetIndex(output)


def row_of(index: tricodec.data.DatasetIndex, name: str) -> int:
    return next(i for i, row in enumerate(index) if Path(row["path"]).name == name)


def packets_of(path: Path) -> list[dict[str, Any]]:
    packets = ffprobe(path, "-select_streams v:0 -show_entries packet=pos,size,flags")["packets"]
    assert isinstance(packets, list)
    return packets


@pytest.mark.parametrize("name", CLIPS)
def test_a_row_has_the_facts_that_ffprobe_finds(index: tricodec.data.DatasetIndex, name: str) -> None:
    clip = generated(name)
    stream = ffprobe(clip, "-select_streams v:0 -show_streams")["streams"][0]
    frames = ffprobe(clip, "-select_streams v:0 -show_entries frame=pts_time")["frames"]

    row = index[row_of(index, name)]

    assert row["status"] == "ok", row["error"]
    assert row["size_bytes"] == clip.stat().st_size
    assert (row["codec"], row["profile"]) == (stream["codec_name"], stream["profile"])
    assert (row["width"], row["height"], row["pixel_format"]) == (stream["width"], stream["height"], stream["pix_fmt"])
    assert row["num_frames"] == len(frames)
    if name != "h264.avi":  # it stores no presentation times
        assert row["start_seconds"] == pytest.approx(float(frames[0]["pts_time"]), abs=1e-6)
    assert f"{row['time_base_num']}/{row['time_base_den']}" == stream["time_base"]
    assert row["rotation"] == (90 if name == "h264_rot90.mp4" else 0)
    assert row["audio_codec"] == ("aac" if name == "h264_audio.mp4" else None)


@pytest.mark.parametrize("name", CLIPS)
def test_the_bytes_of_a_gop_are_those_of_its_packets(index: tricodec.data.DatasetIndex, name: str) -> None:
    row = index[row_of(index, name)]
    packets = packets_of(generated(name))

    assert sum(row["gop_num_frames"]) == row["num_frames"]
    assert row["gop_first_frame"] == list(np.cumsum([0, *row["gop_num_frames"][:-1]]))
    if name.endswith((".ts", ".avi", ".webm", ".mkv")):  # the places that ffprobe states are of the container's blocks
        return
    starts = [i for i, packet in enumerate(packets) if "K" in packet["flags"]]
    expected = []
    for first, end in zip(starts, [*starts[1:], len(packets)], strict=True):
        of_gop = [(int(packet["pos"]), int(packet["pos"]) + int(packet["size"])) for packet in packets[first:end]]
        begin = min(start for start, _ in of_gop)
        expected.append((begin, max(stop for _, stop in of_gop) - begin))
    assert list(zip(row["gop_offset"], row["gop_size_bytes"], strict=True)) == expected


@pytest.mark.parametrize("name", CLIPS)
def test_a_reader_of_a_row_gives_the_frames_of_ffmpeg(index: tricodec.data.DatasetIndex, name: str) -> None:
    expected = ffmpeg_framemd5(generated(name))
    wanted = [len(expected) - 1, 0, len(expected) // 2]

    with index.reader(row_of(index, name), device="cpu") as reader:
        assert len(reader) == len(expected)
        assert [frame.md5() for frame in reader.frames(wanted)] == [expected[i] for i in wanted]


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_a_reader_of_a_row_opens_without_reading_packets(tmp_path: Path, suffix: str) -> None:
    clip = tmp_path / f"long.{suffix}"
    ffmpeg("-stream_loop 39 -i", generated("h264_bframes.mp4"), "-c copy", clip)
    tricodec.data.DatasetIndex.build([clip], tmp_path / "index.parquet")
    index = tricodec.data.DatasetIndex(tmp_path / "index.parquet")

    with tricodec.FrameReader(clip, device="cpu", index="packets") as whole:
        num_frames = len(whole)
        expected = whole[num_frames // 2].md5()
        assert whole.stats.bytes_read >= clip.stat().st_size
    with index.reader(0, device="cpu") as reader:
        opened = reader.stats.bytes_read
        assert len(reader) == num_frames
        assert len(reader.pts_seconds) == index[0]["num_frames"] == num_frames
        assert reader.stats.bytes_read == opened
        assert reader.stats.num_packets_decoded == 0
        assert reader[num_frames // 2].md5() == expected
        assert reader.stats.bytes_read < clip.stat().st_size / 2


def test_a_damaged_file_is_a_row_with_its_reason(index: tricodec.data.DatasetIndex) -> None:
    rows = {Path(row["path"]).name: row for row in index}

    assert {name: rows[name]["status"] for name in DAMAGED} == DAMAGED
    assert rows["text.mp4"]["status"] == rows["empty.mp4"]["status"] == "unreadable"
    assert all(rows[name]["error"] for name in [*DAMAGED, "text.mp4"])
    assert "notes.txt" not in rows
    assert len(rows) == len(CLIPS) + len(DAMAGED) + 2
    with pytest.raises(tricodec.CorruptDataError, match=r"text\.mp4.*unreadable"):
        index.reader(row_of(index, "text.mp4"))


def test_reading_all_frames_finds_damage_that_no_table_shows(tmp_path: Path) -> None:
    clip = generated("zeroed.mp4")
    damaged = []
    for read in ("container", "frames"):
        tricodec.data.DatasetIndex.build([clip], tmp_path / "index.parquet", read=read)  # type: ignore[arg-type]
        damaged.append(tricodec.data.DatasetIndex(tmp_path / "index.parquet")[0])
    assert [row["status"] for row in damaged] == ["ok", "damaged"]
    assert damaged[1]["num_damaged_packets"] > 0
    assert damaged[1]["error"]


def test_the_file_is_the_same_for_any_number_of_workers(folder: Path, tmp_path: Path) -> None:
    written = []
    for workers in (1, 2, 8):
        output = tmp_path / f"{workers}.parquet"
        tricodec.data.DatasetIndex.build([folder], output, workers=workers)
        written.append(output.read_bytes())
    assert written[0] == written[1] == written[2]


def test_an_update_reads_changed_files_alone(tmp_path: Path) -> None:
    videos = copied(["h264_bframes.mp4", "hevc.mp4", "vp9.webm"], tmp_path / "videos")
    output = tmp_path / "index.parquet"
    first = tricodec.data.DatasetIndex.build([videos], output)
    before = output.read_bytes()
    again = tricodec.data.DatasetIndex.build([videos], output)
    assert (first.num_read, first.num_kept, again.num_read, again.num_kept) == (3, 0, 0, 3)
    assert output.read_bytes() == before

    shutil.copy(generated("h264_audio.mp4"), videos / "hevc.mp4")
    shutil.copy(generated("av1.mp4"), videos / "new.mp4")
    (videos / "vp9.webm").unlink()
    updated = tricodec.data.DatasetIndex.build([videos], output)
    assert (updated.num_read, updated.num_kept, updated.statuses) == (2, 1, {"ok": 3})
    rows = {row["path"]: row["codec"] for row in tricodec.data.DatasetIndex(output)}
    assert rows == {"h264_bframes.mp4": "h264", "hevc.mp4": "h264", "new.mp4": "av1"}


def test_an_interrupted_run_leaves_the_old_file(tmp_path: Path) -> None:
    output = tmp_path / "index.parquet"
    tricodec.data.DatasetIndex.build([generated("vp9.webm")], output)
    before = output.read_bytes()

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tricodec.data.DatasetIndex.build([generated("h264_bframes.mp4")], output, on_progress=stop)
    assert output.read_bytes() == before
    assert list(tmp_path.iterdir()) == [output]


def test_a_moved_folder_is_named_by_root(tmp_path: Path) -> None:
    tricodec.data.DatasetIndex.build([copied({"clip.webm": "vp9.webm"}, tmp_path / "a")], tmp_path / "index.parquet")
    (tmp_path / "a").rename(tmp_path / "b")

    index = tricodec.data.DatasetIndex(tmp_path / "index.parquet", root=tmp_path / "b")

    assert index[0]["path"] == "clip.webm"
    with index.reader(0, device="cpu") as reader:
        assert len(reader) == index[0]["num_frames"]
    with pytest.raises(tricodec.MediaNotFoundError):
        tricodec.data.DatasetIndex(tmp_path / "index.parquet").reader(0)


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(tricodec.MediaNotFoundError, match="no-such-folder"):
        tricodec.data.DatasetIndex.build([tmp_path / "no-such-folder"], tmp_path / "index.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changed_is_an_error(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    shutil.copy(generated("h264_bframes.mp4"), clip)
    tricodec.data.DatasetIndex.build([clip], tmp_path / "index.parquet")
    shutil.copy(generated("h264_audio.mp4"), clip)

    with pytest.raises(tricodec.errors.SourceChangedError, match="run tricodec index again"):
        tricodec.data.DatasetIndex(tmp_path / "index.parquet").reader(0)


def test_an_index_goes_to_other_processes_and_threads(index: tricodec.data.DatasetIndex) -> None:
    copy = pickle.loads(pickle.dumps(index))
    assert list(copy) == list(index)
    found: dict[int, int] = {}

    def read(row: int) -> None:
        with copy.reader(row, device="cpu") as reader:
            found[row] = len(reader)

    rows = [row_of(index, name) for name in CLIPS]
    threads = [threading.Thread(target=read, args=(row,)) for row in rows * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {row: index[row]["num_frames"] for row in rows}


def test_remote_videos_are_indexed_and_opened_without_their_packets(server: RangeServer, tmp_path: Path) -> None:
    clip = tmp_path / "long.ts"
    ffmpeg("-stream_loop 39 -i", generated("h264_bframes.mp4"), "-c copy", clip)
    url = server.put("long.ts", clip.read_bytes())
    output = tmp_path / "index.parquet"
    gone = f"{server.url}/gone.mp4"
    summary = tricodec.data.DatasetIndex.build([url, gone], output)
    assert summary.statuses == {"failed": 1, "ok": 1}
    server.forget()
    again = tricodec.data.DatasetIndex.build([url, gone], output)
    assert server.bytes_sent <= 2 * (128 << 10)
    assert again.statuses == summary.statuses

    index = tricodec.data.DatasetIndex(output)
    row = row_of(index, "long.ts")
    server.forget()
    with index.reader(row, device="cpu") as reader:
        assert len(reader) == index[row]["num_frames"] == len(ffprobe_times(clip))
        assert server.bytes_sent < clip.stat().st_size / 3
        assert reader[1000].md5() == tricodec.FrameReader(clip, device="cpu")[1000].md5()
    server.put("long.ts", clip.read_bytes()[:-188])
    with pytest.raises(tricodec.errors.SourceChangedError, match="ETag"):
        index.reader(row)


def test_objects_below_a_url_are_listed(server: RangeServer, tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore")
    names = ["set/a.mp4", "set/deep/b.webm", "set/notes.txt"]
    data = [generated("h264_bframes.mp4").read_bytes(), generated("vp9.webm").read_bytes(), b"text"]
    contents = ""
    for name, each in zip(names, data, strict=True):
        server.put(f"bucket/{name}", each)
        tag = obstore.head(obstore.store.HTTPStore.from_url(server.url, client_options={"allow_http": True}),
                           f"bucket/{name}")["e_tag"]  # fmt: skip
        contents += f"<Contents><Key>{name}</Key><LastModified>2026-10-21T07:28:00.000Z</LastModified>"
        contents += f"<ETag>{tag}</ETag><Size>{len(each)}</Size></Contents>"
    listing = "<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>" + contents + "</ListBucketResult>"
    server.put("bucket", listing.encode())
    options = {"endpoint": server.url, "skip_signature": True, "region": "us-east-1",
               "client_options": {"allow_http": True}}  # fmt: skip

    output = tmp_path / "index.parquet"
    first = tricodec.data.DatasetIndex.build(["s3://bucket/set/"], output, remote_options=options)
    server.forget()
    again = tricodec.data.DatasetIndex.build(["s3://bucket/set/"], output, remote_options=options)

    index = tricodec.data.DatasetIndex(output, remote_options=options)
    assert [row["path"] for row in index] == ["s3://bucket/set/a.mp4", "s3://bucket/set/deep/b.webm"]
    assert [row["status"] for row in index] == ["ok", "ok"]
    assert (first.num_read, again.num_read, again.num_kept) == (2, 0, 2)
    assert len(server.paths) == 1  # the listing tells that nothing changed
    with index.reader(1, device="cpu") as reader:
        assert reader[0].md5() == ffmpeg_framemd5(generated("vp9.webm"))[0]
