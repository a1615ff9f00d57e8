# SPDX-License-Identifier: Apache-2.0
"""`tricodec encode` and `tricodec transcode`."""

from __future__ import annotations

from pathlib import Path

import bitstreams
import media
import pytest
import tricodec
from PIL import Image
from tricodec.cli import main


@pytest.mark.parametrize(
    ("pixel_format", "name", "options"),
    [
        ("yuv420p", "a.yuv", []), ("nv12", "a.yuv", ["--format", "NV12"]), ("nv12", "a.nv12", []),
        ("rgb24", "a.rgb", []),
    ],
)  # fmt: skip
def test_raw_pictures_have_the_layout_that_ffmpeg_writes_under_their_name(
    tmp_path: Path, pixel_format: str, name: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    source = media.generated("h264_bframes.mp4")
    media.ffmpeg("-i", source, "-frames:v", "5", "-f", "rawvideo", "-pix_fmt", pixel_format, tmp_path / name)
    options = [*options, *"--size 320x180 -p bitrate=20M -p bf=3 -p fps=50".split()]

    assert main(["encode", str(tmp_path / name), "-o", str(tmp_path / "out.mp4"), *options]) == 0

    assert "5 frames of 320x180" in capsys.readouterr().out
    assert bitstreams.stream_facts(tmp_path / "out.mp4")["r_frame_rate"] == "50/1"
    expected = bitstreams.decoded(source, "yuv420p")
    assert bitstreams.psnr(bitstreams.decoded(tmp_path / "out.mp4", "yuv420p"), expected[: 5 * 320 * 180 * 3 // 2]) > 35


@pytest.mark.parametrize("size", ["160x-2", "-1x91", "100x40"])
@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "h264_rot90.mp4"])
def test_a_size_is_that_of_ffmpegs_scale(tmp_path: Path, clip: str, size: str) -> None:
    source, picture = media.generated(clip), tmp_path / "picture.png"
    media.ffmpeg("-i", source, "-frames:v", "1", "-vf", f"scale={size.replace('x', ':')}", tmp_path / "expected.png")
    with Image.open(tmp_path / "expected.png") as expected:
        width, height = expected.size

    assert main(["frames", str(source), "--count", "1", "--contact-sheet", "-o", str(picture), "--size", size]) == 0
    assert main(["frames", str(source), "--count", "1", "-o", str(tmp_path), "--size", size]) == 0

    with Image.open(next(tmp_path.glob("0*.png"))) as made:
        assert made.size == (width, height)
    if width % 2 == height % 2 == 0 and clip == "h264_bframes.mp4":
        assert main(["transcode", str(source), str(tmp_path / "a.mp4"), "--end", "0.2", f"--size={size}"]) == 0
        stream = tricodec.FrameReader(tmp_path / "a.mp4").stream
        assert (stream.width, stream.height) == (width, height)


def test_transcode_writes_the_range_that_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = media.generated("h264_bframes.mp4")

    status = main(
        ["transcode", str(source), str(tmp_path / "a.mp4"), "--start", "0.4", "--end", "1.2", "--size", "160x90",
         "--preset", "ultrafast", "--fast-start"]
    )  # fmt: skip

    assert status == 0
    assert "20 frames" in capsys.readouterr().out
    out = tricodec.FrameReader(tmp_path / "a.mp4")
    assert (len(out), out.stream.width, out.stream.height) == (20, 160, 90)
