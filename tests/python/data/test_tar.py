# SPDX-License-Identifier: Apache-2.0
"""Videos in tar archives: an index has a row for each, and readers read their bytes alone."""

from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from range_server import RangeServer

NAMES = ("h264_bframes.mp4", "h264_vfr.mkv", "vp9.webm")


def write_tar(path: Path, kind: int = tarfile.PAX_FORMAT) -> None:
    """Samples of a video, a label and a caption, as webdataset writes them; names too long for a plain header."""
    with tarfile.open(path, "w", format=kind) as archive:
        for number, name in enumerate(NAMES):
            key = f"{'long/' * 30}{number:06}"
            video = generated(name).read_bytes()
            parts = {Path(name).suffix[1:]: video, "cls": str(7 - number).encode(), "txt": f"caption {number}".encode()}
            for extension, data in parts.items():
                member = tarfile.TarInfo(f"{key}.{extension}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def check_frames(index: tricodec.data.DatasetIndex, **options: Any) -> None:
    """Each row has the facts and the frames of its clip."""
    assert len(index) == len(NAMES)
    for row, name in enumerate(NAMES):
        clip = generated(name)
        facts = index[row]
        assert (facts["status"], facts["size_bytes"]) == ("ok", clip.stat().st_size), facts["error"]
        video = tricodec.decode_video(clip, indices=[20, 3], size=(24, 32), device="cpu")
        with index.reader(row, device="cpu") as reader:
            np.testing.assert_array_equal(reader.batch([20, 3], size=(24, 32)), video.frames)
            assert len(reader) == facts["num_frames"]


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_videos_in_a_tar_archive_are_rows(tmp_path: Path, kind: int) -> None:
    write_tar(tmp_path / "shard.tar", kind)
    tricodec.data.DatasetIndex.build([tmp_path], tmp_path / "index.parquet")
    index = tricodec.data.DatasetIndex(tmp_path / "index.parquet")
    check_frames(pickle.loads(pickle.dumps(index)))
    with tarfile.open(tmp_path / "shard.tar") as archive:
        videos = [member for member in archive if not member.name.endswith(("cls", "txt"))]
    assert [row["file_offset"] for row in index] == [member.offset_data for member in videos]
    assert [row["path"] for row in index] == [f"shard.tar/{member.name}" for member in videos]
    assert index.sample(1) == {"cls": b"6", "txt": b"caption 1"}


def test_members_come_from_the_samples_of_an_archive(tmp_path: Path) -> None:
    write_tar(tmp_path / "shard.tar")
    tricodec.data.DatasetIndex.build([tmp_path / "shard.tar"], tmp_path / "index.parquet")
    clips = tricodec.data.Dataset(tmp_path / "index.parquet", clip_length=4, step=1000, members=["cls", "txt"])
    assert [(clips[n]["cls"], clips[n]["txt"]) for n in range(3)] == [(str(7 - n), f"caption {n}") for n in range(3)]
    batch = next(iter(tricodec.data.ClipBatches(clips, 3, shuffle=False)))
    assert (batch["cls"], batch["txt"]) == (["7", "6", "5"], ["caption 0", "caption 1", "caption 2"])
    with pytest.raises(ValueError, match="has no file 'json' in its sample"):
        tricodec.data.Dataset(tmp_path / "index.parquet", clip_length=4, members=["json"])[0]


def test_an_archive_is_read_again_only_when_it_changes(tmp_path: Path) -> None:
    write_tar(tmp_path / "shard.tar")
    first = tricodec.data.DatasetIndex.build([tmp_path], tmp_path / "index.parquet")
    assert (first.num_videos, first.num_read) == (3, 3)
    assert tricodec.data.DatasetIndex.build([tmp_path], tmp_path / "index.parquet").num_kept == 3
    with tarfile.open(tmp_path / "shard.tar", "a") as archive:
        archive.add(generated("av1.mp4"), "more.mp4")
    again = tricodec.data.DatasetIndex.build([tmp_path], tmp_path / "index.parquet")
    assert (again.num_videos, again.statuses) == (4, {"ok": 4})


def test_a_cut_or_compressed_archive_is_a_row_with_the_reason(tmp_path: Path) -> None:
    write_tar(tmp_path / "whole.tar")
    with tarfile.open(tmp_path / "whole.tar") as archive:
        last = archive.getmembers()[-3]
    data = (tmp_path / "whole.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: last.offset_data + last.size // 2])
    with tarfile.open(tmp_path / "small.tar", "w:gz") as archive:
        archive.add(generated("av1.mp4"), "a.mp4")
    (tmp_path / "whole.tar").unlink()
    tricodec.data.DatasetIndex.build([tmp_path], tmp_path / "index.parquet")
    rows = {row["path"].split("/")[-1]: row for row in tricodec.data.DatasetIndex(tmp_path / "index.parquet")}
    assert rows["cut.tar"]["status"] == "failed"
    assert "ends early" in rows["cut.tar"]["error"]
    assert rows["000000.mp4"]["status"] == "ok"
    assert "is no tar archive, or is compressed" in rows["small.tar"]["error"]


def test_a_video_in_a_remote_archive_costs_its_own_bytes(server: RangeServer, tmp_path: Path) -> None:
    write_tar(tmp_path / "shard.tar")
    (tmp_path / "padding").write_bytes(bytes(20_000_000))
    with tarfile.open(tmp_path / "shard.tar", "a") as archive:
        archive.add(tmp_path / "padding", "padding.bin")
        archive.add(generated("vp9.webm"), "last.webm")
    url = server.put("shard.tar", (tmp_path / "shard.tar").read_bytes())
    tricodec.data.DatasetIndex.build([url], tmp_path / "index.parquet")
    index = tricodec.data.DatasetIndex(tmp_path / "index.parquet")
    assert [row["status"] for row in index] == ["ok"] * 4
    row = next(number for number, each in enumerate(index) if each["path"].endswith("last.webm"))
    video = tricodec.decode_video(generated("vp9.webm"), indices=[20, 3], size=(24, 32), device="cpu")
    server.forget()
    with index.reader(row, device="cpu") as reader:
        np.testing.assert_array_equal(reader.batch([20, 3], size=(24, 32)), video.frames)
    assert server.bytes_sent < 1_000_000


def test_a_dataset_of_a_folder_keeps_its_index_and_sees_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "videos").mkdir()
    write_tar(tmp_path / "videos" / "shard.tar")
    clips = tricodec.data.Dataset(tmp_path / "videos", clip_length=4, step=1000)
    assert len(clips) == 3
    index = Path(clips.index.path)
    assert index.is_relative_to(tmp_path / "cache")
    assert len(pickle.loads(pickle.dumps(clips))) == 3
    (tmp_path / "videos" / "more.webm").write_bytes(generated("vp9.webm").read_bytes())
    again = tricodec.data.Dataset(str(tmp_path / "videos"), clip_length=4, step=1000)
    assert (len(again), again.index.path) == (4, str(index))
    some = tricodec.data.Dataset([tmp_path / "videos" / "more.webm"], clip_length=4, step=1000)
    assert [row["path"] for row in some.index] == ["more.webm"]
    index.write_bytes(b"of another version")
    assert len(tricodec.data.Dataset(tmp_path / "videos", clip_length=4, step=1000)) == 4
    with pytest.raises(FileNotFoundError):
        tricodec.data.Dataset(tmp_path / "none", clip_length=4)
