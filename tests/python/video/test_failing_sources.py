# SPDX-License-Identifier: Apache-2.0
"""Sources that fail in read(), headers that lie, videos without frames, and the stream that is read by default."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import media
import numpy as np
import pytest
import tricodec
import tricodec.io
from file_likes import ReadOnly
from media import ffmpeg

GOP, NUM_FRAMES = 10, 120


class FailsOnce(io.BytesIO):
    """Its read() raises once, `left` calls after that was set."""

    left = -1

    def read(self, size: int | None = -1, /) -> bytes:
        self.left -= 1
        if self.left == 0:
            raise OSError(5, "the network was away")
        return super().read(size)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Noise in short GOPs: a read of 32 KB has some pictures."""
    path = Path(tmp_path_factory.mktemp("failing")) / "a.mp4"
    noise = "color=gray:size=96x96:rate=30,noise=c0s=100:c0f=t+u:all_seed=5"
    options = f"-c:v libx264 -preset ultrafast -bf 0 -qp 20 -g {GOP} -keyint_min {GOP} -sc_threshold 0"
    media.ffmpeg("-f", "lavfi", "-i", noise, "-frames:v", str(NUM_FRAMES), *options.split(), path)
    return path.read_bytes()


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("num_reads", [2, 5, 8])
def test_after_an_error_of_its_source_a_reader_gives_the_same_frames(
    num_reads: int, num_workers: int, clip: bytes
) -> None:
    frames = tricodec.FrameReader(clip, device="cpu").batch()
    for start in range(0, NUM_FRAMES, GOP):
        source = FailsOnce(clip)
        reader = tricodec.FrameReader(source, device="cpu", num_workers=num_workers)
        assert len(reader) == NUM_FRAMES
        source.left = num_reads
        with pytest.raises(OSError, match="the network was away"):
            reader.batch()

        assert np.array_equal(reader.batch(start=start, count=GOP), frames[start : start + GOP])
        assert reader.issues == []


@pytest.mark.parametrize("container", ["mp4", "mpegts", "matroska"])
def test_a_demuxer_repeats_the_error_of_its_source_until_a_seek(container: str, clip: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    (tmp_path / "clip.mp4").write_bytes(clip)
    media.ffmpeg("-i", tmp_path / "clip.mp4", "-c copy -f", container, path)
    packets = [packet.data for packet in tricodec.Demuxer(path)]
    source = FailsOnce(path.read_bytes())
    demuxer = tricodec.Demuxer(source)
    source.left = 5
    for _ in range(2):
        with pytest.raises(OSError, match="the network was away"):
            list(demuxer)

    demuxer.seek_seconds(0)

    assert [packet.data for packet in demuxer] == packets
    assert demuxer.ends_early == ""


def put(box: bytes, offset: int, value: int) -> bytes:
    """A video with a number of 32 bits `offset` bytes after the first box's type."""
    data = bytearray(media.generated("h264_bframes.mp4").read_bytes())
    struct.pack_into(">I", data, data.index(box) + offset, value)
    return bytes(data)


LYING_HEADERS = {
    "count of sample sizes": (b"stsz", 12, 0x0FFFFFFF), "count of times": (b"stts", 8, 0xFFFFFFFF),
    "count of chunks": (b"stco", 8, 0x0FFFFFFF), "place of a chunk": (b"stco", 12, 0xFFFFFFF0),
    "size of the header": (b"moov", -4, 8), "size of a sample entry": (b"stsd", -4, 0x0FFFFFFF),
    "size of the parameter sets": (b"avcC", -4, 0xFFFFFFFF), "size of the packets": (b"mdat", -4, 0xFFFFFFFF),
}  # fmt: skip


def outcome(source: Any) -> Any:
    """The frames, or the class of the error."""
    try:
        return tricodec.decode_video(source, device="cpu", size=(18, 32)).frames.tobytes()
    except tricodec.Error as error:
        return type(error)


@pytest.mark.parametrize("name", LYING_HEADERS)
def test_a_header_that_lies_is_damage_from_every_source(name: str, tmp_path: Path) -> None:
    data = put(*LYING_HEADERS[name])
    path = tmp_path / "lying.mp4"
    path.write_bytes(data)

    found = outcome(data)

    if isinstance(found, type):
        assert found in (tricodec.CorruptDataError, tricodec.UnsupportedError, tricodec.RefusedError)
    assert outcome(path) == outcome(io.BytesIO(data)) == found


def test_a_lack_of_memory_is_still_out_of_memory() -> None:
    program = """
        import resource
        import tricodec
        data = sys.stdin.buffer.read()
        def kind():
            try:
                tricodec.Demuxer(data)
            except tricodec.Error as error:
                return type(error).__name__
        before = kind()
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), resource.RLIM_INFINITY))
        print(before, kind())
    """
    command = [sys.executable, "-c", "import sys\n" + textwrap.dedent(program)]

    result = subprocess.run(command, input=put(b"stts", 8, 0x7FFFFFFF), capture_output=True, check=True)

    assert result.stdout.decode().split() == ["CorruptDataError", "OutOfMemoryError"]


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


def test_the_file_that_another_one_names_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "other.mp4")  # a reader that opens it waits for a writer

    with pytest.raises(tricodec.UnsupportedError, match="another file"):
        list(tricodec.Demuxer(external(tmp_path / "other.mp4")))


_TWO = (
    "-f lavfi -i testsrc2=s=96x64:d=1:r=25 -f lavfi -i testsrc2=s=192x128:d=1:r=25 -map 0 -map 1 "
    "-c:v libx264 -preset ultrafast"
)

_FIRST, _SECOND = "-disposition:v:0 default -disposition:v:1 0", "-disposition:v:0 0 -disposition:v:1 default"
_NEITHER = "-disposition:v 0"


@pytest.mark.parametrize("flags", [_FIRST, _SECOND, _NEITHER])
@pytest.mark.parametrize("name", ["a.mkv", "a.mp4"])
def test_every_call_takes_the_stream_that_libavformat_takes(tmp_path: Path, name: str, flags: str) -> None:
    path = tmp_path / name
    ffmpeg(_TWO, flags, path)
    with av.open(str(path)) as container:
        best = container.streams.best("video")
        assert best is not None
        assert _chosen(path) == {best.index}


def test_a_stream_without_packets_is_not_the_best(tmp_path: Path) -> None:
    path = tmp_path / "empty-first.mkv"
    ffmpeg(_TWO, _FIRST, "-bsf:v:0 noise=drop=1", path)
    assert _chosen(path) == {1}
    assert tricodec.decode_video(path).frames.shape == (25, 128, 192, 3)


def _chosen(path: Path) -> set[int | None]:
    with tricodec.FrameReader(path, device="cpu") as reader, tricodec.Demuxer(path) as packets:
        video, probed = reader.info.video, tricodec.probe(path).video
        assert video is not None
        assert probed is not None
        chosen: set[int | None] = {reader.stream.index, packets.stream.index, video.index, probed.index}
    return chosen | {tricodec.io.StreamReader(path).default_video_stream}
