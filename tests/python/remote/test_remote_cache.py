# SPDX-License-Identifier: Apache-2.0
"""`tricodec.remote(url, cache=FOLDER)`: what was fetched is kept in a folder for later programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tricodec
from media import generated
from range_server import RangeServer

pytest.importorskip("obstore")

CLIP = "h264_bframes.mp4"


def pieces(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*-*") if path.is_file()]


def used_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "size")


def read_all(url: str, folder: Path, **options: Any) -> tuple[bytes, tricodec.RemoteStats]:
    source = tricodec.remote(url, cache=folder, **options)
    with source.open() as file:
        data = file.read()
    return data, source.stats


def test_a_second_source_reads_the_folder_and_asks_for_the_version_alone(server: RangeServer, tmp_path: Path) -> None:
    clip = generated(CLIP)
    url = server.put(CLIP, clip.read_bytes())
    first = tricodec.remote(url, cache=tmp_path)
    expected = [frame.md5() for frame in tricodec.FrameReader(first, device="cpu")]
    assert first.stats.bytes_from_folder == 0
    server.forget()

    again = tricodec.remote(url, cache=tmp_path)
    assert [frame.md5() for frame in tricodec.FrameReader(again, device="cpu")] == expected

    assert server.bytes_sent == 1
    assert again.stats.num_requests == 1
    assert again.stats.bytes_from_folder >= clip.stat().st_size


def test_parts_that_are_missing_are_fetched_and_the_others_are_not(server: RangeServer, tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    url = server.put("data", data)
    with tricodec.remote(url, cache=tmp_path).open() as file:
        file.seek(1 << 20)
        assert file.read(1000) == data[1 << 20 : (1 << 20) + 1000]
    sent = server.bytes_sent
    assert read_all(url, tmp_path)[0] == data
    assert server.bytes_sent <= len(data) + 1
    assert sent > 0


def test_another_version_is_never_given(server: RangeServer, tmp_path: Path) -> None:
    url = server.put("data", b"a" * 300_000)
    read_all(url, tmp_path)
    server.put("data", b"b" * 300_000)
    data, stats = read_all(url, tmp_path)
    assert data == b"b" * 300_000
    assert stats.bytes_from_folder == 0


def test_a_damaged_piece_is_read_again(server: RangeServer, tmp_path: Path) -> None:
    data = os.urandom(500_000)
    url = server.put("data", data)
    read_all(url, tmp_path)
    for path in pieces(tmp_path):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    server.forget()
    assert read_all(url, tmp_path)[0] == data
    assert server.bytes_sent == len(data) + 1
    server.forget()
    assert read_all(url, tmp_path)[0] == data
    assert server.bytes_sent == 1


def test_a_piece_that_was_cut_short_is_read_again(server: RangeServer, tmp_path: Path) -> None:
    data = os.urandom(200_000)
    url = server.put("data", data)
    read_all(url, tmp_path)
    for path in pieces(tmp_path):
        path.write_bytes(path.read_bytes()[:100])
    assert read_all(url, tmp_path)[0] == data


def test_the_folder_stays_within_its_bound_and_keeps_what_was_used_last(server: RangeServer, tmp_path: Path) -> None:
    files = {f"data{i}": os.urandom(400_000) for i in range(6)}
    urls = [server.put(name, data) for name, data in files.items()]
    for url in urls[:3]:
        read_all(url, tmp_path, cache_bytes=1_500_000)
        assert used_bytes(tmp_path) <= 1_500_000
    oldest = pieces(tmp_path)
    for path in oldest:
        os.utime(path, (1, 1))
    assert read_all(urls[0], tmp_path, cache_bytes=1_500_000)[1].bytes_from_folder == 400_000  # it is used again
    for url in urls[3:4]:
        read_all(url, tmp_path, cache_bytes=1_500_000)
    assert used_bytes(tmp_path) <= 1_500_000
    assert read_all(urls[0], tmp_path, cache_bytes=1_500_000)[1].bytes_from_folder == 400_000
    assert read_all(urls[1], tmp_path, cache_bytes=1_500_000)[1].bytes_from_folder < 400_000


_READER = """
import sys, hashlib
import tricodec
folder, *urls = sys.argv[1:]
for _ in range(3):
    for url in urls:
        with tricodec.remote(url, cache=folder, cache_bytes=1_000_000).open() as file:
            print(hashlib.md5(file.read()).hexdigest())
"""


def test_processes_share_a_folder(server: RangeServer, tmp_path: Path) -> None:
    """The folder holds three of the four objects, so that processes remove what others read."""
    import hashlib

    files = {f"data{i}": os.urandom(330_000) for i in range(4)}
    urls = [server.put(name, data) for name, data in files.items()]
    command = [sys.executable, "-c", _READER, str(tmp_path)]
    processes = [
        subprocess.Popen([*command, *urls[i:], *urls[:i]], stdout=subprocess.PIPE, text=True) for i in range(3)
    ]
    sums = [hashlib.md5(data).hexdigest() for data in files.values()]
    for i, process in enumerate(processes):
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert output.split() == (sums[i:] + sums[:i]) * 3
    assert used_bytes(tmp_path) <= 1_000_000
    assert not list(tmp_path.rglob(".*"))


def test_a_folder_that_cannot_be_written_is_a_warning(
    server: RangeServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = os.urandom(200_000)
    url = server.put("data", data)
    (tmp_path / "size").mkdir()  # where the folder keeps its size
    assert read_all(url, tmp_path)[0] == data
    assert f"the cache {tmp_path} cannot be written" in caplog.text


def test_an_object_that_changes_is_an_error_with_a_folder_too(server: RangeServer, tmp_path: Path) -> None:
    data = os.urandom(2 << 20)
    source = tricodec.remote(server.put("data", data), cache=tmp_path)
    with source.open() as file:
        file.read(10)
        server.put("data", data[::-1])
        with pytest.raises(tricodec.SourceChangedError, match="changed while it was read"):
            file.read()
