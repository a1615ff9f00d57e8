# SPDX-License-Identifier: Apache-2.0
"""A video without frames is never an empty result: each call says that there are none, and why."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import media
import PyNvVideoCodec as nvc
import pytest
import tricodec

CONTAINERS = {b"moov", b"trak", b"mdia", b"minf", b"dinf"}


def boxes(data: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    while data:
        size = struct.unpack(">I", data[:4])[0]
        found.append((data[4:8], data[8:size]))
        data = data[size:]
    return found


def rewritten(data: bytes, edit: Callable[[bytes, bytes], bytes]) -> bytes:
    """An mp4 with edit(kind, content) as the contents of its boxes."""
    out = b""
    for kind, old in boxes(data):
        content = rewritten(old, edit) if kind in CONTAINERS else edit(kind, old)
        out += struct.pack(">I", len(content) + 8) + kind + content
    return out


def external(other: Path) -> bytes:
    """An mp4 with samples that are, by its data reference, in another file: a QuickTime alias with an absolute path."""
    path = os.fsencode(other)
    path += b"\0" * (len(path) % 2)
    record = b"\0" * 10 + b"\4disk" + b"\0" * 23 + b"\0" * 12 + b"\5x.mp4" + b"\0" * 58 + b"\0" * 16
    record += struct.pack(">HH", 1, 1) + b"\0" * 16
    record += struct.pack(">HH", 2, len(path)) + path + struct.pack(">HH", 0xFFFF, 0)
    alias = struct.pack(">I4sI", len(record) + 12, b"alis", 0) + record
    reference = struct.pack(">II", 0, 1) + alias
    data = media.generated("h264_bframes.mp4").read_bytes()
    return rewritten(data, lambda kind, content: reference if kind == b"dref" else content)


def without_samples(kind: bytes, content: bytes) -> bytes:
    if kind != b"stbl":
        return content
    empty = {b"stts": 8, b"stsz": 12, b"stsc": 8, b"stco": 8, b"stss": 8, b"ctts": 8}
    out = b""
    for table, old in boxes(content):
        rows = b"\0" * empty[table] if table in empty else old
        out += struct.pack(">I", len(rows) + 8) + table + rows
    return out


def empty_mp4() -> bytes:
    return rewritten(media.generated("h264_bframes.mp4").read_bytes(), without_samples)


def empty_mkv() -> bytes:
    """A Matroska file, as a live writer leaves it, with one cluster and no block in it."""
    data = media.generated("h264_open_gop.mkv").read_bytes()
    head = data[: data.index(b"\x1f\x43\xb6\x75")]
    segment = head.index(b"\x18\x53\x80\x67") + 4
    head = head[:segment] + b"\1" + b"\xff" * 7 + head[segment + 8 :]
    return head + b"\x1f\x43\xb6\x75" + b"\x83" + b"\xe7\x81\0"


def no_key_frames() -> bytes:
    """H.264 without the pictures that decoding can start at."""
    units = media.generated("h264_raw.h264").read_bytes().replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1")
    kept = [unit for unit in units[1:] if unit[0] & 31 not in (5, 6)]
    return b"".join(b"\0\0\0\1" + unit for unit in kept)


def garbage() -> bytes:
    data = media.generated("h264_bframes.mp4").read_bytes()
    return rewritten(data, lambda kind, content: b"\xff" * len(content) if kind == b"mdat" else content)


class ReadOnly:
    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    def read(self, size: int) -> memoryview:
        data, self._data = self._data[:size], self._data[size:]
        return data


NO_PACKETS = {
    "external": (lambda: external(media.generated("h264_bframes.mp4")), "no packets: its samples are in another file"),
    "mp4": (empty_mp4, "has no packets"),
    "mkv": (empty_mkv, "has no packets"),
}
NO_FRAMES = {"no key frames": no_key_frames, "garbage": garbage}
SOURCES: dict[str, Callable[[bytes], Any]] = {"bytes": bytes, "read-only": ReadOnly}


def data_of(name: str) -> bytes:
    return NO_PACKETS[name][0]() if name in NO_PACKETS else NO_FRAMES[name]()


READS: dict[str, Callable[[tricodec.FrameReader], Any]] = {
    "for": list,
    "batches": lambda reader: list(reader.batches(4, size=(8, 8))),
    "batch": lambda reader: reader.batch(slice(None), size=(8, 8)),
    "some": lambda reader: reader[::3],
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", [*NO_PACKETS, *NO_FRAMES])
def test_a_read_of_frames_raises_and_leaves_an_issue(name: str, kind: str, read: str) -> None:
    reason = NO_PACKETS[name][1] if name in NO_PACKETS else "can(not)? be decoded"

    with tricodec.FrameReader(SOURCES[kind](data_of(name))) as reader:
        with pytest.raises(tricodec.CorruptDataError, match=reason):
            READS[read](reader)
        assert len(reader) == 0
        assert reader.issues
        assert reader.num_damaged_packets > 0
        with pytest.raises(IndexError, match="has no frames"):
            reader[0]


@pytest.mark.parametrize("name", [*NO_PACKETS, *NO_FRAMES])
def test_a_request_for_nothing_stays_empty(name: str) -> None:
    with tricodec.FrameReader(data_of(name)) as reader:
        assert list(reader.iterate(count=0)) == []
        assert reader[0:0] == reader[5:5] == reader.frames([]) == []
        assert reader.select(count=0) == []


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", NO_PACKETS)
def test_a_demuxer_raises_where_a_video_has_no_packets(name: str, kind: str) -> None:
    make, reason = NO_PACKETS[name]
    error = tricodec.UnsupportedError if name == "external" else tricodec.CorruptDataError

    with tricodec.Demuxer(SOURCES[kind](make())) as demuxer, pytest.raises(error, match=reason):
        list(demuxer)
    callback = SOURCES["read-only"](make())

    def fill(buffer: bytearray) -> int:
        piece = callback.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    with pytest.raises((nvc.PyNvVCException, nvc.PyNvVCExceptionUnsupported), match="has no packets"):
        list(nvc.CreateDemuxer(fill))


def test_the_file_that_another_one_names_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "other.mp4")  # a reader that opens it waits for a writer

    with pytest.raises(tricodec.UnsupportedError, match="another file"):
        list(tricodec.Demuxer(external(tmp_path / "other.mp4")))


@pytest.mark.needs_dali
@pytest.mark.parametrize("name", [*NO_PACKETS, *NO_FRAMES])
def test_dali_names_the_sample_and_the_file(name: str, tmp_path: Path) -> None:
    from dali_testing import decode, read_batches

    clip = tmp_path / "clip.bin"
    clip.write_bytes(data_of(name))
    good = media.generated("h264_bframes.mp4")

    with pytest.raises(RuntimeError, match=r"Sample 1 of the batch of 2.* be decoded"):
        decode([good, clip])
    with pytest.raises(RuntimeError, match=r"clip\.bin.* be decoded"):
        read_batches(1, batch_size=1, filenames=[str(clip)], sequence_length=2)
    assert [len(each.frames) for each in decode([good, clip], on_error="empty", count=2)] == [2, 0]
