# SPDX-License-Identifier: Apache-2.0
"""Times that do not rise with the frames: joined files, wrong time stamps, equal times, streams without any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tricodec
from media import ffmpeg

_PICTURES = "-f lavfi -i testsrc2=s=96x64:d={}:r={}"
_RATE = 25


def _with_times(folder: Path, name: str, codec: str, times: str) -> Path:
    """300 frames at 25 a second with the times of a `setts` expression."""
    plain, path = folder / f"plain-{name}", folder / name
    ffmpeg(_PICTURES.format(12, _RATE), codec, plain)
    ffmpeg("-i", plain, "-c copy", "-bsf:v", f"setts={times}", path)
    return path


def _joined(folder: Path) -> Path:
    part, path = folder / "part.ts", folder / "joined.ts"
    ffmpeg(_PICTURES.format(6, _RATE), "-c:v libx264 -g 25 -bf 2", part)
    path.write_bytes(2 * part.read_bytes())
    return path


def _stamped(folder: Path, name: str, new_time: Callable[[int, int], int]) -> Path:
    """An MPEG-TS of 300 frames with other presentation times: of the number and the time, in 1/90000 s."""
    plain, path = folder / f"plain-{name}", folder / name
    ffmpeg(_PICTURES.format(12, _RATE), "-c:v libx264 -g 25 -bf 0", plain)
    data = bytearray(plain.read_bytes())
    number = 0
    for packet in range(0, len(data), 188):
        start = data.find(b"\0\0\1\xe0", packet, packet + 188)  # the header of a picture (ISO/IEC 13818-1, 2.4.3.6)
        if not data[packet + 1] & 0x40 or start < 0:
            continue
        at = start + 9
        old = (
            (data[at] >> 1 & 7) << 30
            | data[at + 1] << 22
            | data[at + 2] >> 1 << 15
            | data[at + 3] << 7
            | data[at + 4] >> 1
        )
        new = new_time(number, old)
        first = data[at] & 0xF0 | new >> 30 << 1 | 1
        data[at : at + 5] = bytes(
            [first, new >> 22 & 255, new >> 15 << 1 & 255 | 1, new >> 7 & 255, new << 1 & 255 | 1]
        )
        number += 1
    assert number == 300
    path.write_bytes(data)
    return path


_B_FRAMES = "-c:v libx264 -g 25 -bf 2"
_WRONG = "pts=if(eq(N\\,60)+eq(N\\,151)\\,PTS+500*{}\\,PTS)"
_TICKS = 90000
KINDS = {
    "two-ahead.mkv": lambda folder: _with_times(folder, "two-ahead.mkv", _B_FRAMES, _WRONG.format(1000)),
    "mpeg4.mkv": lambda folder: _with_times(folder, "mpeg4.mkv", "-c:v mpeg4 -g 12", _WRONG.format(1000)),
    "two-ahead.mp4": lambda folder: _with_times(folder, "two-ahead.mp4", "-c:v libx264 -bf 0", _WRONG.format(12800)),
    "ahead.ts": lambda folder: _stamped(folder, "ahead.ts", lambda n, t: t + 90 * _TICKS * (n in (60, 151))),
    "behind.ts": lambda folder: _stamped(folder, "behind.ts", lambda n, t: t - _TICKS * (n in (60, 151))),
    "a-stretch-ahead.ts": lambda folder: _stamped(
        folder, "a-stretch-ahead.ts", lambda n, t: t + 3 * _TICKS * (100 <= n < 104)
    ),
    "equal.ts": lambda folder: _stamped(folder, "equal.ts", lambda n, t: t - 3600 * (n % 2)),
    "all-equal.ts": lambda folder: _stamped(folder, "all-equal.ts", lambda n, t: 3 * _TICKS),
    "last-ahead.ts": lambda folder: _stamped(folder, "last-ahead.ts", lambda n, t: t + 7 * 3600 * _TICKS * (n == 299)),
    "first-ahead.ts": lambda folder: _stamped(folder, "first-ahead.ts", lambda n, t: t + 3600 * _TICKS * (n == 0)),
    "set-back.ts": lambda folder: _stamped(folder, "set-back.ts", lambda n, t: t + 20 * _TICKS * (n < 150)),
    "joined.ts": _joined,
}


@pytest.fixture(params=KINDS, scope="module")
def clip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = KINDS[request.param](tmp_path_factory.mktemp("times"))
    return path


def _on_screen(times: np.ndarray, seconds: float) -> int:
    """The frame with the greatest time that is not after a time; of equal times the last one."""
    before = np.flatnonzero(times <= seconds)
    return int(before[times[before] == times[before].max()].max())


def _nearest(times: np.ndarray, seconds: float) -> int:
    distance = np.abs(times - seconds)
    near = np.flatnonzero(distance == distance.min())
    return int(near[times[near] == times[near].min()].max())


class TestTimesOfAnyOrder:
    def test_a_time_means_the_frame_that_the_rules_name(self, clip: Path) -> None:
        with tricodec.FrameReader(clip, device="cpu") as reader:
            times = np.array(reader.pts_seconds)
            middles = np.unique(times)[:-1] + np.diff(np.unique(times)) / 2
            for seconds in [*times.tolist(), *middles.tolist()]:
                assert reader.index_at(seconds) == _on_screen(times, seconds)
            asked = [*times.tolist(), *(middles + 0.001).tolist()]
            assert reader.select(times=asked) == [_nearest(times, each) for each in asked]
            assert reader.select(times=asked, policy="on_screen") == [_on_screen(times, each) for each in asked]
            exact = reader.select(times=times.tolist(), policy="exact")
            assert times[exact].tolist() == times.tolist()
            assert reader.at(times[200]).index == _on_screen(times, times[200])

    def test_single_wrong_times_do_not_change_durations_and_rates(self, clip: Path) -> None:
        with tricodec.FrameReader(clip, device="cpu") as reader:
            assert len(reader) == 300
            assert reader.duration == pytest.approx(12, abs=0.25)
            assert reader.fps == pytest.approx(_RATE, rel=0.02)
            assert len(reader.select(fps=5)) in (59, 60, 61)
            assert reader.select(num_frames=5) == [0, 75, 150, 224, 299]
            begin = 3.0 if clip.name == "all-equal.ts" else float(reader.pts_seconds[1]) - 0.04
            part = reader.select(start_s=begin + 2, end_s=begin + 3)
            assert part == list(range(part[0], part[-1] + 1))
            assert abs(part[0] - 50) <= 1
            assert abs(part[-1] - 74) <= 2  # libavcodec moves times after a wrong one to those of decoding
            assert len(reader.select(fps=_RATE)) in (299, 300, 301)
            numbers = reader.select(fps=5)
            assert np.abs(np.array(numbers) - np.arange(len(numbers)) * 5).max() <= 4
            frames = reader.batch(fps=5)
            assert np.array_equal(frames[20], reader.batch([numbers[20]])[0])


def test_doctor_names_videos_with_times_that_go_back(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    _joined(tmp_path / "videos")  # and the part that it is made of
    tricodec.data.DatasetIndex.build([tmp_path / "videos"], tmp_path / "index.parquet")
    facts = tricodec.data.examine(tricodec.data.DatasetIndex(tmp_path / "index.parquet"))
    (found,) = [each for each in facts["findings"] if each["name"] == "times_go_back"]
    assert [(video["path"], video["detail"]) for video in found["videos"]] == [("joined.ts", "at 1 frames")]


def test_frames_of_bare_streams_and_avi_know_their_times(tmp_path: Path) -> None:
    for name in ("a.h264", "a.m4v", "a.avi", "h.avi", "a.mpg"):
        path = tmp_path / name
        codec = {"a.h264": "libx264", "h.avi": "libx264", "a.mpg": "mpeg2video"}.get(name, "mpeg4")
        ffmpeg(_PICTURES.format(2, _RATE), f"-c:v {codec} -bf 2", path)
        with tricodec.FrameReader(path, device="cpu") as reader:
            times = [frame.pts_seconds for frame in reader]
            assert times == pytest.approx(reader.pts_seconds)
            assert [reader[i].pts_seconds for i in (0, 30, 7)] == pytest.approx(reader.pts_seconds[[0, 30, 7]])
            assert np.allclose(np.diff(times), 0.04, atol=0.0011)


def test_a_joined_stream_at_a_rate_is_ffmpegs(tmp_path: Path) -> None:
    path = _joined(tmp_path)
    with tricodec.FrameReader(path, device="cpu") as reader:
        numbers = reader.select(fps=5)
    size = 96 * 64

    def pictures(filters: str) -> list[bytes]:
        data = ffmpeg("-i", path, filters, "-pix_fmt gray -f rawvideo -")
        return [data[at : at + size] for at in range(0, len(data), size)]

    known = pictures("-vsync 0")
    assert len(known) == 300
    expected = [known.index(picture) for picture in pictures("-vf fps=5:round=up")]  # both parts show the same pictures
    assert [number % 150 for number in numbers] == expected


@pytest.mark.parametrize("rate", ["24000/1001", "60"])
@pytest.mark.parametrize("name", ["a.h264", "a.mp4", "a.ts"])
def test_frame_numbers_over_the_rate_are_the_frames(tmp_path: Path, name: str, rate: str) -> None:
    path = tmp_path / name
    ffmpeg(_PICTURES.format(3, rate), "-c:v libx264 -bf 2 -preset ultrafast", path)
    num, _, den = rate.partition("/")
    with tricodec.FrameReader(path, device="cpu") as reader:
        first = reader.pts_seconds[0]
        asked = [first + i * int(den or 1) / int(num) for i in range(len(reader))]
        assert [reader.index_at(each) for each in asked] == list(range(len(reader)))
        assert reader.select(times=asked) == list(range(len(reader)))
        printed = [float(f"{each:.6f}") for each in reader.pts_seconds]
        assert [reader.index_at(each) for each in printed] == list(range(len(reader)))
