# SPDX-License-Identifier: Apache-2.0
"""Damaged files: the frames before the damage are exact, the reports name it, and no process ends.

Undamaged files report no damage, whatever the number of decoders and of their threads.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged_clips
import isolated
import media
import numpy as np
import pytest
import tricodec
import unusual_clips
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


@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_the_range_of_colors_of_vp8_is_that_of_the_key_frame_whatever_thread_decodes(
    num_workers: int, tmp_path: Path
) -> None:
    """libavcodec's threads do not tell each other of this bit of the header."""
    with tricodec.FrameReader(
        unusual_clips.vp8_of_two_ranges(tmp_path), device="cpu", num_workers=num_workers
    ) as reader:
        _, second, third = reader.key_frames
        ranges = [reader[number].color.range for number in range(len(reader))]

    assert ranges[:second] == ["limited"] * second
    assert ranges[second:third] == ["full"] * (third - second)
    assert ranges[third:] == ["limited"] * (len(ranges) - third)


@pytest.mark.parametrize("num_workers", [1, 2])
def test_frames_of_av1_that_share_a_packet_are_all_given(num_workers: int) -> None:
    clip = damaged_clips.made("av1.mp4", damaged_clips.SMALL["av1.mp4"])
    data = damaged_clips.av1_in_28_packets()

    decoded = tricodec.decode_video(data, device="cpu", num_workers=num_workers).frames

    assert np.array_equal(decoded, tricodec.decode_video(clip, device="cpu").frames)
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        assert len(reader) == len(decoded) == 30
        assert np.array_equal(reader.batch([15, 7, 29]), decoded[[15, 7, 29]])


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", ["mpeg4.mp4", "av1.mp4"])
def test_a_table_without_key_frames_does_not_make_every_frame_one(name: str, num_workers: int) -> None:
    clip = damaged_clips.made(name, damaged_clips.SMALL[name])
    data = damaged_clips.all_key(name)
    expected = tricodec.decode_video(clip, device="cpu").frames

    assert np.array_equal(tricodec.decode_video(data, device="cpu", num_workers=num_workers).frames, expected)
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        assert np.array_equal(reader.batch([27, 15, 4]), expected[[27, 15, 4]])


def test_the_place_of_chroma_is_that_of_the_sequence_header_in_force() -> None:
    # Of AV1. libavcodec keeps the place of earlier pictures where a header leaves it open.
    with tricodec.FrameReader(damaged_clips.with_chroma_in_headers(), device="cpu", num_workers=1) as reader:
        iterated = [frame.color.chroma_location for frame in reader]
        numbers = [65, 45, 3, 39, 89, 30, 60, 0]

        assert [reader[i].color.chroma_location for i in numbers] == [iterated[i] for i in numbers]

    assert iterated == ["unspecified"] * 30 + ["topleft"] * 30 + ["unspecified"] * 30


@pytest.mark.parametrize("num_workers", [1, 2])
def test_frames_after_the_end_of_an_edit_list_are_given_by_no_way(num_workers: int) -> None:
    data = damaged_clips.shown_in_part()

    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        iterated = sum(1 for _ in iter(reader))

    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        assert iterated == len(reader) == damaged_clips.NUM_SHOWN


# A file that has a frame less than its packets promise.

PROMISED = 30
LEFT = 29
LOST = 15


@pytest.fixture(scope="module")
def shortened() -> bytes:
    return damaged_clips.without_frame_15()


@pytest.fixture(scope="module")
def left(shortened: bytes, tmp_path_factory: pytest.TempPathFactory) -> list[np.ndarray]:
    """The frames that are left, in RGB: those of one decoder, which are the ffmpeg command line's."""
    path = tmp_path_factory.mktemp("damage") / "shortened.mp4"
    path.write_bytes(shortened)
    transform = tricodec.Transform()
    with tricodec.FrameReader(path, device="cpu", num_workers=1) as reader:
        frames = list(reader)
    assert [frame.md5() for frame in frames] == media.ffmpeg_framemd5(path, input_options=("-threads", "1"))
    assert len(frames) == LEFT
    return [np.asarray(transform(frame)) for frame in frames]


WORKERS = pytest.mark.parametrize("num_workers", [1, 2])


def opened(data: bytes, num_workers: int) -> tricodec.FrameReader:
    reader = tricodec.FrameReader(data, device="cpu", num_workers=num_workers)
    assert len(reader) == PROMISED
    return reader


def after_damage(reader: tricodec.FrameReader, read: Callable[[], Any]) -> Any:
    """What `read` gives once the reader has met the damage."""
    assert len(reader[LOST:]) == LEFT - LOST
    return read()


OPEN_ENDED: dict[str, tuple[Callable[[tricodec.FrameReader], Any], slice]] = {
    "all": (lambda reader: reader.batch(slice(None)), slice(None)),
    "from the middle on": (lambda reader: reader.batch(slice(12, None)), slice(12, None)),
    "the last five": (lambda reader: reader.batch(slice(-5, None)), slice(-5, None)),
    "backwards": (lambda reader: reader.batch(slice(None, None, -1)), slice(None, None, -1)),
    "every fifth": (lambda reader: reader.batch(slice(None, None, 5)), slice(None, None, 5)),
    "frames": (lambda reader: [tricodec.Transform()(frame) for frame in reader[3:]], slice(3, None)),
    "the last one": (lambda reader: [tricodec.Transform()(reader[-1])], slice(-1, None)),
    "the last two by number": (lambda reader: reader.batch([-2, -1]), slice(-2, None)),
    "iterated": (lambda reader: [tricodec.Transform()(frame) for frame in reader], slice(None)),
    "iterated from the end": (
        lambda reader: [tricodec.Transform()(frame) for frame in reader.iterate(start=-15)],
        slice(-15, None),
    ),
    "batches": (lambda reader: np.concatenate(list(reader.batches(4))), slice(None)),
    "batches of every third": (lambda reader: np.concatenate(list(reader.batches(2, stride=3))), slice(None, None, 3)),
    "batches from the end": (lambda reader: np.concatenate(list(reader.batches(7, start=-15))), slice(-15, None)),
}


@WORKERS
@pytest.mark.parametrize("way", OPEN_ENDED)
def test_what_is_open_ended_gives_the_frames_that_are_left(
    way: str, num_workers: int, shortened: bytes, left: list[np.ndarray]
) -> None:
    read, expected = OPEN_ENDED[way]
    with opened(shortened, num_workers) as reader:
        frames = read(reader)

        assert np.array_equal(np.stack(list(frames)), np.stack(left[expected]))
        if LOST in range(PROMISED)[expected]:  # what was read needed the damaged packet
            assert len(reader) == LEFT
            assert reader.num_damaged_packets == len(reader.issues) > 0


@WORKERS
@pytest.mark.parametrize("start", [0, 5, -15])
def test_decode_video_gives_the_frames_that_are_left(
    start: int, num_workers: int, shortened: bytes, left: list[np.ndarray]
) -> None:
    video = tricodec.decode_video(shortened, start=start, num_workers=num_workers, device="cpu")

    assert np.array_equal(video.frames, np.stack(left[start:]))
    assert video.pts_seconds.shape == (len(left[start:]),)
    assert video.num_damaged_packets > 0


TOO_MUCH: dict[str, tuple[Callable[[tricodec.FrameReader], Any], str]] = {
    "frames": (lambda reader: reader[[LOST, LEFT]], f"frame {LEFT} "),
    "a batch": (lambda reader: reader.batch([LEFT, 0, LOST]), f"frame {LEFT} "),
    "an array": (
        lambda reader: reader.batch(slice(None), out=np.empty((PROMISED, 64, 64, 3), np.uint8)),
        f"pass an out of {LEFT}",
    ),
    "a frame later": (lambda reader: after_damage(reader, lambda: reader[LEFT]), f"frame {LEFT} "),
    "iterated later": (
        lambda reader: after_damage(reader, lambda: list(reader.iterate(start=LEFT))),
        f"start is {LEFT}",
    ),
    "batches later": (
        lambda reader: after_damage(reader, lambda: list(reader.batches(4, start=LEFT))),
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

        assert str(LEFT) in str(raised.value)
        assert len(reader) == LEFT


@WORKERS
def test_decode_video_counts_the_frames_that_are_left(num_workers: int, shortened: bytes) -> None:
    with pytest.raises(IndexError, match=rf"there are {LEFT}; .*has {LEFT} frames"):
        tricodec.decode_video(shortened, count=PROMISED, num_workers=num_workers, device="cpu")

    assert len(tricodec.decode_video(shortened, count=LEFT, num_workers=num_workers, device="cpu").frames) == LEFT


# Undamaged files that make a codec complain where it begins in the middle, and those of many slices and of fields.

_X264 = "-c:v libx264 -preset veryfast -crf 30 -x264-params keyint=8:bframes=3:scenecut=0:"
_X265 = "-c:v libx265 -preset ultrafast -crf 32 -x265-params keyint=8:pools=2:log-level=error:"
UNDAMAGED = {
    "fields.mp4": _X264 + "tff=1",
    "fields_bottom.mkv": _X264 + "bff=1:b-pyramid=normal",
    "fields_open.h264": _X264 + "interlaced=1:open-gop=1",
    "fields_open.avi": _X264 + "interlaced=1:open-gop=1",
    "fields_in_name.ts": _X264 + "fake-interlaced=1",
    "slices.mp4": _X264 + "slices=4",
    "slices_open.h264": _X264 + "slices=4:open-gop=1",
    "slices_open.avi": _X264 + "slices=4:open-gop=1",
    "slices_open.ts": _X264 + "slices=4:open-gop=1",
    "slices_of_fields.mp4": _X264 + "slices=4:tff=1:open-gop=1",
    "sliced_threads.mp4": _X264 + "sliced-threads=1:threads=4",
    "hevc_slices.mp4": _X265 + "slices=4:open-gop=1",
    "hevc_slices_open.hevc": _X265 + "slices=4:open-gop=1",
    "hevc_slices.mkv": _X265 + "slices=4:open-gop=0",
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
@pytest.mark.sweep(3)
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
@pytest.mark.sweep(3)
def test_damage_that_ffmpeg_reports_is_reported(name: str, tmp_path: Path) -> None:
    path = damaged_clips.made(name, UNDAMAGED[name], "160x96")
    data = with_damage_that_ffmpeg_reports(path, tmp_path)

    for num_workers in (1, 2, 4):
        video = tricodec.decode_video(data, num_workers=num_workers, device="cpu")

        assert video.num_damaged_packets > 0, num_workers
