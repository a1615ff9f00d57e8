# SPDX-License-Identifier: Apache-2.0
"""Times that do not rise with the frames: joined files, wrong time stamps, equal times, streams without any."""

from __future__ import annotations

from pathlib import Path

import pytest
import tricodec
from media import ffmpeg

_PICTURES = "-f lavfi -i testsrc2=s=96x64:d={}:r={}"
_RATE = 25


def _joined(folder: Path) -> Path:
    part, path = folder / "part.ts", folder / "joined.ts"
    ffmpeg(_PICTURES.format(6, _RATE), "-c:v libx264 -g 25 -bf 2", part)
    path.write_bytes(2 * part.read_bytes())
    return path


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
    codec = "-c:v libx265 -x265-params log-level=none" if name.endswith("hevc") else "-c:v libx264 -bf 2"
    ffmpeg(_PICTURES.format(3, rate), codec, "-preset ultrafast", path)
    num, _, den = rate.partition("/")
    with tricodec.FrameReader(path, device="cpu") as reader:
        first = reader.pts_seconds[0]
        asked = [first + i * int(den or 1) / int(num) for i in range(len(reader))]
        assert [reader.index_at(each) for each in asked] == list(range(len(reader)))
        assert reader.select(times=asked) == list(range(len(reader)))
        printed = [float(f"{each:.6f}") for each in reader.pts_seconds]
        assert [reader.index_at(each) for each in printed] == list(range(len(reader)))
