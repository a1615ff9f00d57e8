# SPDX-License-Identifier: Apache-2.0
"""Seeks of tricodec.io.StreamReader: the frames of a whole read, from the frame at the time on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tricodec.io
from media import ffmpeg

_PICTURES = "-f lavfi -i testsrc2=s=96x64:d=4:r={}"
_X265 = "-c:v libx265 -x265-params log-level=none:keyint=25"

CLIPS = {
    "mpeg2.ts": (25, "-c:v mpeg2video -g 15 -bf 2"),
    "h264.ts": (25, "-c:v libx264 -g 25 -bf 2"),
    "mpeg2.mpg": (25, "-c:v mpeg2video -g 15 -bf 2"),
    "mpeg4.avi": (25, "-c:v mpeg4 -g 12 -bf 2"),
    "h264.avi": (25, "-c:v libx264 -g 25 -bf 2"),
    "cra.mkv": (25, _X265),
    "cra.mp4": (25, _X265),
    "thirty.mkv": (30, "-c:v libx264 -g 30 -bf 2"),
    "thirty.mp4": (30, "-c:v libx264 -g 30 -bf 2"),
    "open.mp4": (25, "-c:v libx264 -x264-params open-gop=1:bframes=3:keyint=12"),
    "palette.mov": (25, "-c:v qtrle -pix_fmt gray -g 12"),
    "bare.h264": (25, "-c:v libx264 -g 25 -bf 2"),
    "bare.hevc": (25, _X265),
}


@pytest.fixture(params=CLIPS)
def clip(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    rate, codec = CLIPS[request.param]
    path = tmp_path / request.param
    ffmpeg(_PICTURES.format(rate), codec, "-preset ultrafast" if "libx" in codec else "", path)
    return path


def _frames(
    path: Path, seek: float | None = None, mode: str = "precise", **options: float
) -> list[tuple[float, bytes]]:
    reader = tricodec.io.StreamReader(path, arrays="numpy")
    reader.add_basic_video_stream(1, buffer_chunk_size=-1, format="yuv420p", **options)
    if seek is not None:
        reader.seek(seek, mode)
    reader.process_all_packets()
    found = []
    while (chunk := reader.pop_chunks()[0]) is not None:
        found.append((chunk.pts, np.asarray(chunk).tobytes()))
    return found


def test_a_seek_before_the_streams_are_added_is_the_same(clip: Path) -> None:
    whole = _frames(clip)
    reader = tricodec.io.StreamReader(clip, arrays="numpy")
    reader.seek(whole[40][0])
    reader.add_basic_video_stream(-1, buffer_chunk_size=-1, format="yuv420p")
    reader.process_all_packets()
    chunk = reader.pop_chunks()[0]
    assert (chunk.pts, len(chunk)) == (whole[40][0], len(whole) - 40)


def test_sound_has_its_times_in_samples(tmp_path: Path) -> None:
    path = tmp_path / "sound.webm"
    ffmpeg("-f lavfi -i sine=d=3:r=48000 -c:a libopus", path)
    reader = tricodec.io.StreamReader(path, arrays="numpy")
    reader.add_basic_audio_stream(1000, buffer_chunk_size=-1)
    times = [chunk.pts for (chunk,) in reader.stream()]
    assert times == pytest.approx([times[0] + k * 1000 / 48000 for k in range(len(times))], abs=1e-9)


@pytest.mark.parametrize("name", ["a.mpg", "a.ts", "a.mp4", "a.mkv"])
def test_sound_begins_with_the_first_frame_from_the_time_on(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    sound = "mp2" if name.endswith("mpg") else "aac"
    ffmpeg(_PICTURES.format(25), "-f lavfi -i sine=d=4:r=48000 -c:v mpeg2video -g 15 -bf 2 -c:a", sound, path)

    def both(seek: float | None, video: bool) -> tuple[float, int]:
        reader = tricodec.io.StreamReader(path, arrays="numpy")
        reader.add_basic_audio_stream(-1, buffer_chunk_size=-1)
        if video:
            reader.add_basic_video_stream(-1, buffer_chunk_size=-1)
        if seek is not None:
            reader.seek(seek)
        reader.process_all_packets()
        chunk = reader.pop_chunks()[0]
        return chunk.pts, len(chunk)

    begin, count = both(None, True)
    for seconds in (begin + 1.5, begin + 3.1):
        for video in (False, True):
            first, left = both(seconds, video)
            assert seconds <= first < seconds + 0.06
            assert left == pytest.approx(count - (first - begin) * 48000, abs=50)


def test_a_precise_seek_begins_with_the_frame_of_the_time(clip: Path) -> None:
    whole = _frames(clip)
    for number in (0, 1, 13, 24, 26, 50, 61, 99):
        for seconds in (whole[number][0], round(whole[number][0], 6)):
            assert _frames(clip, seconds) == whole[number:]
    between = (whole[30][0] + whole[31][0]) / 2
    assert _frames(clip, between) == whole[31:]


def test_a_seek_to_a_key_frame_begins_before_the_time_with_whole_frames(clip: Path) -> None:
    whole = _frames(clip)
    found = _frames(clip, whole[70][0], "key")
    assert found[0][0] <= whole[70][0]
    assert found == whole[len(whole) - len(found) :]


def test_a_frame_rate_drops_no_frame(clip: Path) -> None:
    rate = CLIPS[clip.name][0]
    pixels = ffmpeg("-i", clip, "-pix_fmt yuv420p -vsync 0 -f rawvideo -")
    assert len(_frames(clip, frame_rate=rate)) == len(pixels) // (96 * 64 * 3 // 2)
