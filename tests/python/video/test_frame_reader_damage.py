# SPDX-License-Identifier: Apache-2.0
"""Damaged files: every way to read gives the frames that can be decoded, or the same error; no process ends.

Undamaged files report no damage, whatever the number of decoders and of their threads.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged_clips
import isolated
import numpy as np
import pytest
import tricodec
from bitstreams import probe

SLOW_FILES = int(os.environ.get("TRICODEC_FUZZ_FILES", "5000"))
JOBS = int(os.environ.get("TRICODEC_FUZZ_JOBS", "1"))
DRIVER = Path(damaged_clips.__file__)


# 5310: AV1 that libdav1d 1.0 waits for. 412643: H.264 shows a picture too late.
# 627246, 606915, 613576: numbers of pictures. 639128: a key frame of HEVC that drops the pictures before it.
# 845999: AV1 with the header of a key frame that has no tiles. 837803: VP9 with a picture past the limits.
# 957650: AV1 with a redundant header that is none. 938845: MPEG-4 with another length of times in its header.
# 303463: HEVC that shows the pictures before a damaged GOP after it. 2010107: another range of colors of VP8.
@pytest.mark.parametrize(
    ("first", "count"),
    [(0, isolated.AT_ONCE // 2), pytest.param(50, 2 * isolated.AT_ONCE, marks=pytest.mark.slow)],
)
def test_damaged_files_are_read_alike_by_every_way(first: int, count: int) -> None:
    assert isolated.faults(DRIVER, first, count) == []


@pytest.mark.slow
def test_many_damaged_files_are_read_alike_by_every_way() -> None:
    assert isolated.faults(DRIVER, 1000, SLOW_FILES, JOBS) == []


# A file that has a frame less than its packets promise.

PROMISED = 30
LEFT = 29
LOST = 15


@pytest.fixture(scope="module")
def shortened() -> bytes:
    return damaged_clips.without_frame_15()


WORKERS = pytest.mark.parametrize("num_workers", [1, 2])


def opened(data: bytes, num_workers: int) -> tricodec.FrameReader:
    reader = tricodec.FrameReader(data, device="cpu", num_workers=num_workers)
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
def test_what_asks_for_a_frame_that_is_not_there_says_how_many_there_are(
    way: str, num_workers: int, shortened: bytes
) -> None:
    read, message = TOO_MUCH[way]
    with opened(shortened, num_workers) as reader:
        with pytest.raises(IndexError, match=message) as raised:
            read(reader)

        assert re.search(rf"damaged.*{LEFT}", str(raised.value))
        assert len(reader) == LEFT


# Undamaged files that make a codec complain where it begins in the middle, and those of many slices and of fields.

_X264 = "-c:v libx264 -preset veryfast -crf 30 -x264-params keyint=8:bframes=3:scenecut=0:"
_X265 = "-c:v libx265 -preset ultrafast -crf 32 -x265-params keyint=8:pools=2:log-level=error:"
UNDAMAGED = {
    "fields.mp4": _X264 + "tff=1",
    "fields_open.h264": _X264 + "interlaced=1:open-gop=1",
    "slices_open.ts": _X264 + "slices=4:open-gop=1",
    "sliced_threads.mp4": _X264 + "sliced-threads=1:threads=4",
    "hevc_slices_open.hevc": _X265 + "slices=4:open-gop=1",
}


def all_ways(path: Path, num_workers: int) -> list[tricodec.DecodeIssue]:
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


@pytest.fixture
def refused_after_damage() -> bytes:
    """VP9 with damage in frame 15, and a height past the limits in frame 20."""
    return damaged_clips.damaged(420206)[1]


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("knows_length", [False, True])
def test_every_iteration_gives_the_frames_before_a_refused_picture(
    refused_after_damage: bytes, num_workers: int, knows_length: bool
) -> None:
    given = []
    with tricodec.FrameReader(refused_after_damage, device="cpu", num_workers=num_workers) as reader:
        if knows_length:
            assert reader[16].index == 16
        with pytest.raises(tricodec.RefusedError, match="64x32832"):
            given.extend(frame.index for frame in reader)

    assert given == list(range(19))
