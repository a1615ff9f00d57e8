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


def test_encode_makes_a_file_of_raw_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = bitstreams.moving(96, 64, 6)
    (tmp_path / "a.nv12").write_bytes(frames.tobytes())

    names = ["encode", str(tmp_path / "a.nv12"), "-o", str(tmp_path / "a.mp4")]
    status = main([*names, "--size", "96x64", "-p", "bf=3", "-p", "fps=25"])

    assert status == 0
    assert "6 frames of 96x64" in capsys.readouterr().out
    assert bitstreams.stream_facts(tmp_path / "a.mp4")["r_frame_rate"] == "25/1"
    decoded = bitstreams.decoded(tmp_path / "a.mp4", "nv12").reshape(frames.shape)
    assert bitstreams.psnr(decoded, frames) > 38


@pytest.mark.parametrize(
    ("pixel_format", "name", "options"),
    [
        ("yuv420p", "a.yuv", []), ("nv12", "a.yuv", ["--format", "NV12"]), ("nv12", "a.nv12", []),
        ("rgb24", "a.rgb", []),
    ],
)  # fmt: skip
def test_raw_pictures_have_the_layout_that_ffmpeg_writes_under_their_name(
    tmp_path: Path, pixel_format: str, name: str, options: list[str]
) -> None:
    source = media.generated("h264_bframes.mp4")
    media.ffmpeg("-i", source, "-frames:v", "5", "-f", "rawvideo", "-pix_fmt", pixel_format, tmp_path / name)
    size = ["--size", "320x180"]

    assert (
        main(["encode", str(tmp_path / name), "-o", str(tmp_path / "out.mkv"), *size, *options, "-p", "bitrate=20M"])
        == 0
    )

    expected = bitstreams.decoded(source, "yuv420p")
    assert bitstreams.psnr(bitstreams.decoded(tmp_path / "out.mkv", "yuv420p"), expected[: 5 * 320 * 180 * 3 // 2]) > 35


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


def test_encode_takes_a_video(tmp_path: Path) -> None:
    source = media.generated("h264_bframes.mp4")

    assert main(["encode", str(source), "-o", str(tmp_path / "a.mkv"), "-p", "codec=hevc", "-p", "preset=P1"]) == 0

    assert len(tricodec.FrameReader(tmp_path / "a.mkv")) == len(tricodec.FrameReader(source))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["encode", "a.yuv", "-o", "b.mp4"], "pass --size WIDTHxHEIGHT"),
        (["encode", str(media.generated("h264_bframes.mp4")), "-o", "b.mp4", "-p", "bitrat=3"], "mean 'bitrate'"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert text in lines[0]


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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--start", "2", "--end", "1"], "--end 1 is not after --start 2"),
        (["--start", "1", "--end", "1"], "--end 1 is not after --start 1"),
        (["--start", "1000"], "there is sound from 0.000 s to"),
        (["--end", "-1"], "there is sound from 0.000 s to"),
    ],
)
def test_a_range_without_sound_is_an_error(
    tmp_path: Path, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "a.wav"

    assert main(["audio", str(media.generated("movie.mp4")), "-o", str(target), *arguments]) == 1

    assert text in capsys.readouterr().err
    assert not target.exists()
