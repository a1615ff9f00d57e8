# SPDX-License-Identifier: Apache-2.0
"""Sources that cannot seek: every container gives the frames of the file, live ones as they come, within the limits."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import media
import PyNvVideoCodec as nvc
import pytest
import tricodec
from file_likes import ReadOnly
from tricodec.io import StreamReader

pytestmark = pytest.mark.usefixtures("restored_limits")

# Larger than the buffers between the source and libavformat.
LONG = {"long.mp4": [], "long_faststart.mp4": ["-movflags", "+faststart"], "long.avi": []}
CLIPS = [
    *LONG,
    "h264_fragmented.mp4",
    "h264_open_gop.mkv",
    "h264.ts",
    "h264_raw.h264",
]


def clip(name: str) -> Path:
    if name not in LONG:
        return media.generated(name)
    path = media.CACHE / f"spool_{name}"
    if not path.is_file():
        base = media.generated("h264_nob.mp4")
        made = path.with_name(f"{os.getpid()}_{name}")
        media.ffmpeg("-stream_loop 2 -i", base, "-c copy", *LONG[name], made)
        made.replace(path)
    return path


class ShortReads(ReadOnly):
    """From 1 to 7 bytes at a time, as a generator of pieces may give them."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._sizes = itertools.cycle(range(1, 8))

    def read(self, size: int) -> bytes:
        return super().read(min(size, next(self._sizes)))


def feed(data: bytes, write: Callable[[bytes], Any], close: Callable[[], Any]) -> None:
    def run() -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for start in range(0, len(data), 10_000):
                write(data[start : start + 10_000])
        close()

    threading.Thread(target=run, daemon=True).start()


def pipe(data: bytes) -> io.BufferedReader:
    reading, writing = os.pipe()
    file = os.fdopen(writing, "wb", buffering=0)
    feed(data, file.write, file.close)
    return os.fdopen(reading, "rb")


CANNOT_SEEK: dict[str, Callable[[bytes], Any]] = {"read-only": ReadOnly, "short-reads": ShortReads, "pipe": pipe}


@contextlib.contextmanager
def opened(kind: str, data: bytes) -> Iterator[Any]:
    source = CANNOT_SEEK[kind](data)
    try:
        yield source
    finally:
        if hasattr(source, "close"):
            source.close()


def digests(packets: Any) -> list[str]:
    return [hashlib.md5(packet.data, usedforsecurity=False).hexdigest() for packet in packets]


@pytest.mark.parametrize("kind", CANNOT_SEEK)
@pytest.mark.parametrize("name", CLIPS)
def test_a_frame_reader_gives_the_frames_of_the_file_from_any_source(name: str, kind: str) -> None:
    path = clip(name)
    expected = media.ffmpeg_framemd5(path)

    with opened(kind, path.read_bytes()) as source, tricodec.FrameReader(source) as reader:
        in_order = [frame.md5() for frame in reader]
        there_and_back = [reader[i].md5() for i in (len(expected) - 1, 0, len(expected) // 2)]

        assert in_order == expected
        assert len(reader) == len(expected)
        assert there_and_back == [expected[i] for i in (-1, 0, len(expected) // 2)]
        assert reader.issues == []


@pytest.mark.parametrize("kind", CANNOT_SEEK)
@pytest.mark.parametrize("name", CLIPS)
def test_a_demuxer_gives_the_packets_of_the_file(name: str, kind: str) -> None:
    path = clip(name)
    with tricodec.Demuxer(path) as demuxer:
        expected = digests(demuxer)

    with opened(kind, path.read_bytes()) as source, tricodec.Demuxer(source) as demuxer:
        assert not demuxer.seekable
        assert digests(demuxer) == expected


@pytest.mark.parametrize("name", CLIPS)
def test_every_call_that_takes_a_source_reads_one_that_cannot_seek(name: str) -> None:
    path = clip(name)
    data = path.read_bytes()
    expected = media.ffmpeg_framemd5(path)

    video = tricodec.decode_video(ReadOnly(data), size=(18, 32))
    assert (video.frames == tricodec.decode_video(path, size=(18, 32)).frames).all()
    assert len(video) == len(expected)
    assert len(tricodec.decode_video(ReadOnly(data), start=3, count=2)) == 2
    assert tricodec.probe(ReadOnly(data)).video.codec_name == tricodec.probe(path).video.codec_name
    result = tricodec.transcode(ReadOnly(data), None, format="mp4", options={"preset": "ultrafast"})
    assert result.num_frames == len(expected)
    decoder = nvc.SimpleDecoder(ReadOnly(data), use_device_memory=False, need_scanned_stream_metadata=True)
    assert len(decoder) == len(expected)
    assert decoder.get_scanned_stream_metadata().num_frames == len(expected)
    reader = StreamReader(ReadOnly(data))
    reader.add_basic_video_stream(1, format=None)
    assert sum(1 for _ in reader.stream()) == len(expected)


LIVE = {
    "mpegts": ["-f", "mpegts"],
    "matroska": ["-f", "matroska"],
    "fragmented": ["-f", "mp4", "-movflags", "frag_keyframe+empty_moov"],
}


def live(kind: str) -> bytes:
    """A minute of video as a live writer sends it."""
    if kind == "h264":
        return media.generated("h264_raw.h264").read_bytes() * 30
    clip = media.generated("h264_nob.mp4")
    return media.ffmpeg("-stream_loop 29 -i", clip, "-c copy", *LIVE[kind], "-")


class Live:
    """A pipe with a writer that sends half, and the rest once the reader says that it has something."""

    def __init__(self, data: bytes) -> None:
        reading, writing = os.pipe()
        self.file = os.fdopen(reading, "rb")
        self.reader_has_something = threading.Event()
        self.was_in_time: bool | None = None
        self._thread = threading.Thread(target=self._write, args=(data, writing), daemon=True)
        self._thread.start()

    def _write(self, data: bytes, writing: int) -> None:
        with os.fdopen(writing, "wb", buffering=0) as file:
            file.write(data[: len(data) // 2])
            self.was_in_time = self.reader_has_something.wait(20)
            file.write(data[len(data) // 2 :])

    def join(self) -> None:
        self._thread.join(30)
        self.file.close()


def first_packet(source: Any, got: Callable[[], None]) -> int:
    packets = iter(tricodec.Demuxer(source))
    next(packets)
    got()
    return 1 + sum(1 for _ in packets)


def first_callback_packet(source: Any, got: Callable[[], None]) -> int:
    demuxer = nvc.CreateDemuxer(source.readinto1)
    assert demuxer.Demux().bsl > 0
    got()
    return 1 + sum(packet.bsl > 0 for packet in demuxer)


def first_frame(source: Any, got: Callable[[], None]) -> int:
    frames = iter(tricodec.FrameReader(source))
    next(frames)
    got()
    return 1 + sum(1 for _ in frames)


def first_chunk(source: Any, got: Callable[[], None]) -> int:
    reader = StreamReader(source)
    reader.add_basic_video_stream(1, format=None)
    chunks = reader.stream()
    next(chunks)
    got()
    return 1 + sum(1 for _ in chunks)


@pytest.mark.parametrize("read", [first_packet, first_callback_packet, first_frame, first_chunk])
@pytest.mark.parametrize("kind", [*LIVE, "h264"])
def test_a_live_stream_is_given_before_its_writer_ends(
    kind: str, read: Callable[[Any, Callable[[], None]], int]
) -> None:
    source = Live(live(kind))

    count = read(source.file, source.reader_has_something.set)

    source.join()
    assert source.was_in_time is True
    assert count == 30 * 50


class Endless:
    """A transport stream that never ends."""

    def __init__(self) -> None:
        self._data = media.generated("h264.ts").read_bytes()
        self.num_read = 0

    def read(self, size: int) -> bytes:
        start = self.num_read % len(self._data)
        data = self._data[start : start + size]
        self.num_read += len(data)
        return data


@pytest.mark.parametrize("read", [len, lambda reader: sum(1 for _ in reader)], ids=["len", "iterate"])
def test_a_frame_reader_of_an_endless_stream_is_refused_at_the_limit(read: Callable[[Any], int]) -> None:
    tricodec.set_limits(max_spool_bytes=2 << 20)
    source = Endless()

    with (
        tricodec.FrameReader(source) as reader,
        pytest.raises(tricodec.RefusedError, match=r"max_spool_bytes = 2097152 bytes; pass a path.*set_limits"),
    ):
        read(reader)
    assert source.num_read < 4 << 20


def deleted_files(directory: Path) -> list[str]:
    """Files without a name that this process has open there."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(str(descriptor.readlink()))
    return [link for link in links if link.startswith(str(directory)) and link.endswith("(deleted)")]


@pytest.mark.parametrize("name", ["long.mp4", "h264_audio.mp4", "h264_open_gop.mkv"])
def test_past_the_limit_of_memory_a_temporary_file_without_a_name_is_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = clip(name)
    expected = media.ffmpeg_framemd5(path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tricodec.set_limits(max_spool_memory_bytes=10_001)

    with tricodec.FrameReader(ShortReads(path.read_bytes())) as reader:
        assert [frame.md5() for frame in reader] == expected
        assert reader[7].md5() == expected[7]
        assert len(deleted_files(tmp_path)) == 1
        assert list(tmp_path.iterdir()) == []
    gc.collect()
    assert deleted_files(tmp_path) == []
