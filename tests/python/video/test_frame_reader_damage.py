# SPDX-License-Identifier: Apache-2.0
"""Damaged and cut files: no way to read ends the process, and the frames before the damage are exact."""

from __future__ import annotations

import io
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged_clips
import hostile_packets
import isolated
import media
import numpy as np
import pytest
import tricodec
from bitstreams import probe

SLOW_FILES = int(os.environ.get("TRICODEC_FUZZ_FILES", "5000"))
JOBS = int(os.environ.get("TRICODEC_FUZZ_JOBS", "1"))
DRIVER = Path(damaged_clips.__file__)


# 5310: AV1 that libdav1d 1.0 waits for. 845999: AV1 with the header of a key frame that has no tiles.
# 837803: VP9 with a picture past the limits. 957650: AV1 with a redundant header that is none.
@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, isolated.AT_ONCE // 2), (5310, 1), (845999, 1), (837803, 1), (957650, 1), (damaged_clips.FIRST_OF_VP8, 5),
        pytest.param(50, 2 * isolated.AT_ONCE, marks=pytest.mark.slow),
        pytest.param(1000, SLOW_FILES, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_damaged_files_end_no_process_and_have_exact_frames_before_the_damage(first: int, count: int) -> None:
    assert isolated.faults(DRIVER, first, count, JOBS) == []


PROMISED = 30
LEFT = 29
LOST = 15


WORKERS = pytest.mark.parametrize("num_workers", [1, 2])


def opened(num_workers: int) -> tricodec.FrameReader:
    reader = tricodec.FrameReader(damaged_clips.without_frame_15(), device="cpu", num_workers=num_workers)
    assert len(reader) == PROMISED
    return reader


def after_damage(reader: tricodec.FrameReader, read: Callable[[], Any]) -> Any:
    """What `read` gives once the reader has met the damage."""
    assert len(reader[LOST:]) == LEFT - LOST
    return read()


TOO_MUCH: dict[str, tuple[Callable[[tricodec.FrameReader], Any], str]] = {
    "a batch": (lambda reader: reader.batch([LEFT, 0, LOST]), f"frame {LEFT} "),
    "a frame later": (lambda reader: after_damage(reader, lambda: reader[LEFT]), f"frame {LEFT} "),
    "iterated later": (
        lambda reader: after_damage(reader, lambda: list(reader.iterate(start=LEFT))),
        f"start is {LEFT}",
    ),
}


@WORKERS
@pytest.mark.parametrize("way", TOO_MUCH)
def test_what_asks_for_a_frame_that_is_not_there_says_how_many_there_are(way: str, num_workers: int) -> None:
    read, message = TOO_MUCH[way]
    with opened(num_workers) as reader:
        with pytest.raises(IndexError, match=message) as raised:
            read(reader)

        assert str(LEFT) in str(raised.value)
        assert len(reader) == LEFT


OPEN_ENDED: dict[str, dict[str, Any]] = {
    "all frames": {}, "the last frames": {"start": -LOST}, "some of the last frames": {"start": -LOST, "stride": 2},
}  # fmt: skip


@WORKERS
@pytest.mark.parametrize("words", OPEN_ENDED.values(), ids=list(OPEN_ENDED))
def test_a_request_is_resolved_again_where_decoding_shows_other_frames(words: dict[str, Any], num_workers: int) -> None:
    with opened(num_workers) as reader:
        promised = reader.select(**words)
        expected = after_damage(reader, lambda: reader.select(**words))
    with opened(num_workers) as reader:
        video = tricodec.decode_video(reader, **words)
        times = reader.pts_seconds

    assert video.indices is not None
    assert video.indices.tolist() == expected != promised
    assert video.pts_seconds.tolist() == times[expected].tolist()
    assert len(video.frames) == len(expected)


_X264 = "-c:v libx264 -preset veryfast -crf 30 -x264-params keyint=8:bframes=3:scenecut=0:"
_X265 = "-c:v libx265 -preset ultrafast -crf 32 -x265-params keyint=8:pools=2:log-level=error:"

UNDAMAGED = {
    "fields.mp4": _X264 + "tff=1",
    "fields_open.h264": _X264 + "interlaced=1:open-gop=1",
    "slices_open.ts": _X264 + "slices=4:open-gop=1",
    "sliced_threads.mp4": _X264 + "sliced-threads=1:threads=4",
    "hevc_slices_open.hevc": _X265 + "slices=4:open-gop=1",
}


def all_ways(path: Path, num_workers: int) -> list[tricodec.video.DecodeIssue]:
    """What readers report that read all frames, some of them, and from one to another."""
    found = []
    with tricodec.FrameReader(path, device="cpu", num_workers=num_workers) as reader:
        for _ in reader:
            pass
        found += reader.issues
    with tricodec.FrameReader(path, device="cpu", num_workers=num_workers) as reader:
        reader.batch(slice(None))
        for number in np.random.default_rng(num_workers).permutation(len(reader)).tolist():
            reader[number]
        reader.batch(slice(None, None, 3))
        for _ in reader.iterate(start=len(reader) // 2):
            pass
        found += reader.issues
    return found


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize("name", UNDAMAGED)
def test_undamaged_files_report_no_damage(name: str, num_workers: int) -> None:
    path = damaged_clips.made(name, UNDAMAGED[name], "160x96")

    for _ in range(num_workers):  # one worker does the same each time
        assert all_ways(path, num_workers) == []


def with_damage_that_ffmpeg_reports(path: Path, tmp_path: Path) -> bytes:
    """The file with 40 bytes of a packet as zeros: of the first in its second half of which ffmpeg complains."""
    packets = probe(path, "packet=pos,size")["packets"]
    for packet in packets[len(packets) // 2 + 1 :]:
        data = bytearray(path.read_bytes())
        middle = int(packet["pos"]) + int(packet["size"]) // 2
        data[middle : middle + 40] = bytes(40)
        damaged = tmp_path / path.name
        damaged.write_bytes(data)
        command = ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-i", damaged, "-f", "null", "-"]
        if subprocess.run(command, capture_output=True, check=False).stderr:
            return bytes(data)
    raise AssertionError(f"ffmpeg reports no damage of {path}")


@pytest.mark.parametrize("name", UNDAMAGED)
def test_damage_that_ffmpeg_reports_is_reported(name: str, tmp_path: Path) -> None:
    path = damaged_clips.made(name, UNDAMAGED[name], "160x96")
    data = with_damage_that_ffmpeg_reports(path, tmp_path)

    for num_workers in (1, 2, 4):
        video = tricodec.decode_video(data, num_workers=num_workers, device="cpu")

        assert video.num_damaged_packets > 0, num_workers


@pytest.mark.parametrize("backwards", [False, True])
def test_a_stream_without_time_stamps_has_an_issue_for_each_damaged_packet(backwards: bool) -> None:
    data = bytearray(media.ffmpeg("-i", media.generated("h264_intra_only.mp4"), "-c copy -f h264 -"))
    slices = [at + 4 for at in range(len(data)) if data[at : at + 3] == b"\0\0\1" and data[at + 3] & 31 == 5]
    damaged = [3, 7, 8, 15]
    for picture in damaged:
        data[slices[picture] : slices[picture] + 8] = b"\xff" * 8

    with tricodec.FrameReader(bytes(data), device="cpu", num_workers=1) as reader:
        frames = [reader[number] for number in reversed(range(len(reader)))] if backwards else list(reader)
        assert frames
        assert reader.num_damaged_packets == 4
        assert [(issue.packet_number, issue.pts) for issue in reader.issues] == [(number, None) for number in damaged]


SIZED = ["h264_fragmented.mp4", "h264_open_gop.mkv"]
"""Of each container that is checked."""

WHOLE = ["h264_bframes.mp4", "h264_fragmented.mp4", "h264_open_gop.mkv", "h264.ts", "vp9.webm", "mpeg4.avi"]


def cut(name: str, part: float = 2 / 3) -> bytes:
    """The first part of a clip."""
    data = media.generated(name).read_bytes()
    return data[: int(len(data) * part)]


def ends_early(source: Any) -> str:
    with tricodec.Demuxer(source) as demuxer:
        assert demuxer.ends_early == ""
        for _ in demuxer:
            pass
        return demuxer.ends_early


@pytest.mark.parametrize("name", SIZED)
def test_what_is_there_of_a_cut_file_comes_and_the_cut_is_told(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with tricodec.FrameReader(media.generated(name), num_workers=1) as whole:
        expected = [frame.md5() for frame in whole]

    with tricodec.FrameReader(cut(name), num_workers=1) as reader:
        md5s = [frame.md5() for frame in reader]
        told = reader.issues[-1]

    # The last pictures may lack what they refer to, or a part of their own.
    assert len(expected) // 4 < len(md5s) < len(expected)
    assert md5s[:-5] == expected[: len(md5s) - 5]
    assert told.message.startswith("it ends early: ")
    assert "bytes; it was cut off or is still being written" in told.message
    assert (told.pts, told.pos) == (None, len(cut(name)))
    assert caplog.text.count("ends early") == 1


@pytest.mark.parametrize("name", WHOLE)
def test_whole_files_say_nothing(name: str) -> None:
    assert ends_early(media.generated(name)) == ""


def mp4_with(head: bytes) -> bytes:
    """An MP4 file with its samples last, in a box with this head of 16 bytes."""
    data = media.generated("h264_faststart.mp4").read_bytes()
    at = data.index(b"mdat") - 12
    assert data[at : at + 8] == b"\0\0\0\x08free"
    return data[:at] + head + data[at + 16 :]


def test_the_samples_of_an_mp4_file_may_have_64_bits_or_no_end() -> None:
    data = media.generated("h264_faststart.mp4").read_bytes()
    num_bytes = len(data) - data.index(b"mdat") - 4
    long = mp4_with(b"\0\0\0\1mdat" + (num_bytes + 16).to_bytes(8, "big"))

    assert ends_early(long) == ""
    assert all("mdat" in ends_early(long[:size]) for size in (len(long) // 2, len(long) - 1))
    assert ends_early(mp4_with(b"\0\0\0\x08free\0\0\0\0mdat")) == ""


@pytest.mark.parametrize("more", [(1 << 30).to_bytes(4, "big") + b"thmb" + b"x" * 9, bytes(20), b"xxx"])
def test_what_a_camera_appends_to_an_mp4_file_is_no_cut(more: bytes) -> None:
    assert ends_early(media.generated("h264_faststart.mp4").read_bytes() + more) == ""


@pytest.mark.parametrize("sized", [True, False])
def test_live_matroska_ends_with_its_last_cluster_or_block(sized: bool) -> None:
    data = bytearray(media.ffmpeg("-i", media.generated("h264_open_gop.mkv"), "-c copy -f matroska -"))
    clusters = [match.start() for match in re.finditer(re.escape(b"\x1f\x43\xb6\x75"), data)]
    for at in [] if sized else clusters:
        data[at + 4 : at + 6] = b"\x7f\xff"  # a length of two bytes that is not known

    assert ends_early(bytes(data)) == ends_early(bytes(data) + bytes(50)) == ""
    for size in (clusters[-1] + 3, clusters[-1] + 200, len(data) - 1):
        assert ends_early(bytes(data[:size])) != "", size


def test_a_source_that_gives_less_than_it_says_is_read_to_its_end() -> None:
    class Liar(io.BytesIO):
        def seek(self, offset: int, whence: int = 0, /) -> int:
            return super().seek(offset, whence) + (1000 if whence == os.SEEK_END else 0)

    for name in SIZED:
        assert len(list(tricodec.Demuxer(Liar(media.generated(name).read_bytes())))) > 0


@pytest.mark.parametrize("num_workers", [1, 2])
def test_transcode_counts_the_cut(num_workers: int, caplog: pytest.LogCaptureFixture) -> None:
    source = cut("h264_open_gop.mkv")

    result = tricodec.transcode(source, None, format="mp4", options={"preset": "ultrafast"}, num_workers=num_workers)

    assert (result.num_frames, result.num_damaged_packets) == (33, 1)
    assert caplog.text.count("ends early") == 1


def test_good_streams_are_exact_after_damaged_packets() -> None:
    assert isolated.faults(Path(hostile_packets.__file__), 0, 100) == []
