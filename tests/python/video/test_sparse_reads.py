# SPDX-License-Identifier: Apache-2.0
"""What a read does not decode: packets are counted, and the frames are ffmpeg's."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tricodec
from media import ffmpeg, ffmpeg_framemd5

_X264 = "-c:v libx264 -preset veryfast -sc_threshold 0"
_AV1 = "-c:v libsvtav1 -preset 10"
LEAVES_OUT = {
    "h264.mp4": f"{_X264} -g 12 -bf 3",
    "h264_mbaff.ts": f"{_X264} -g 12 -bf 3 -flags +ilme+ildct -x264opts tff",
    "hevc.mkv": "-c:v libx265 -preset veryfast -x265-params keyint=12:log-level=none",
    "mpeg2.ts": "-c:v mpeg2video -g 12 -bf 2",
    "mpeg4.mkv": "-c:v mpeg4 -g 12 -bf 2",
    "av1.mp4": f"{_AV1} -g 24",
    "av1.mkv": f"{_AV1} -g 24",
}
NEEDS_ALL = {
    "h264.mp4": f"{_X264} -g 12 -bf 0",
    "av1.mp4": "-c:v libaom-av1 -usage realtime -cpu-used 8 -g 24 -b:v 300k",
    "vp8.webm": "-c:v libvpx -b:v 300k -g 20",
}


def made(folder: Path, name: str, options: str) -> Path:
    ffmpeg("-f lavfi -i testsrc2=s=320x180:r=25 -frames:v 50 -pix_fmt yuv420p", options, folder / name)
    return folder / name


def opened(path: Path, num_workers: int = 1) -> tricodec.FrameReader:
    return tricodec.FrameReader(path, device="cpu", num_workers=num_workers)


def num_decoded(reader: tricodec.FrameReader, numbers: list[int], expected: list[str]) -> int:
    """How many packets it takes to read these frames, which are the expected ones."""
    before = reader.stats.num_packets_decoded
    assert [frame.md5() for frame in reader.frames(numbers)] == [expected[number] for number in numbers]
    return int(reader.stats.num_packets_decoded - before)


@pytest.mark.parametrize(
    ("name", "options", "leaves_out"),
    [(*each, True) for each in LEAVES_OUT.items()] + [(*each, False) for each in NEEDS_ALL.items()],
)
def test_a_read_leaves_out_what_nothing_refers_to(name: str, options: str, leaves_out: bool, tmp_path: Path) -> None:
    path = made(tmp_path, name, options)
    expected = ffmpeg_framemd5(path)
    wanted = [2, 9, 10, 21, 46]
    with opened(path) as reader:
        lasts = {max(key for key in reader.key_frames if key <= number): number for number in wanted}
        from_the_keys = sum(last - key + 1 for key, last in lasts.items())

        assert (num_decoded(reader, wanted, expected) < from_the_keys) == leaves_out
        num_decoded(reader, list(range(50)), expected)  # what was left out is there
        assert reader.issues == []


def test_each_packet_is_decoded_once(tmp_path: Path) -> None:
    path = made(tmp_path, "a.mp4", f"{_X264} -g 50 -bf 0")
    expected = ffmpeg_framemd5(path)
    with opened(path) as reader:
        assert num_decoded(reader, [30, 20, 10], expected) == 31
    with opened(path) as reader:
        assert sum(num_decoded(reader, [number], expected) for number in range(4, 50, 5)) == 50
    for num_workers in (1, 2):
        with opened(made(tmp_path, "b.mp4", f"{_X264} -g 25 -bf 3"), num_workers) as reader:
            md5s = ffmpeg_framemd5(tmp_path / "b.mp4")
            assert sum(num_decoded(reader, list(range(at, at + 5)), md5s) for at in range(0, 50, 5)) == 50


def test_layers_of_av1_are_left_out_and_come_back_in_any_order(tmp_path: Path) -> None:
    path = made(tmp_path, "a.mp4", f"{_AV1} -g 48")
    expected = ffmpeg_framemd5(path)
    # Two layers of five: a wanted picture's unit, and the one that brings its mini group of 16.
    with opened(path) as reader:
        assert num_decoded(reader, [0, 8, 16, 24, 32, 40], expected) <= 12
    with opened(path) as reader:
        first = num_decoded(reader, [0, 8, 16], expected)
        assert num_decoded(reader, [24, 32, 40], expected) <= first + 2  # it continues
    chosen = random.Random(11)
    for num_workers in (1, 2) * 4:
        with opened(path, num_workers) as reader:
            for _ in range(8):
                num_decoded(reader, chosen.choices(range(50), k=chosen.randint(1, 5)), expected)
