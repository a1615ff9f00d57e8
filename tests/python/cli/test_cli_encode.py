# SPDX-License-Identifier: Apache-2.0
"""`tricodec encode` and `tricodec transcode`."""

from __future__ import annotations

from pathlib import Path

import bitstreams
import media
import pytest
import tricodec
from tricodec.cli.command import main


def test_encode_makes_a_file_of_raw_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = bitstreams.moving(96, 64, 6)
    (tmp_path / "a.yuv").write_bytes(frames.tobytes())

    status = main(
        ["encode", str(tmp_path / "a.yuv"), str(tmp_path / "a.mp4"), "--size", "64x96", "-p", "bf=3", "-p", "fps=25"]
    )

    assert status == 0
    assert "6 frames of 96x64" in capsys.readouterr().out
    assert bitstreams.stream_facts(tmp_path / "a.mp4")["r_frame_rate"] == "25/1"
    decoded = bitstreams.decoded(tmp_path / "a.mp4", "nv12").reshape(frames.shape)
    assert bitstreams.psnr(decoded, frames) > 38


def test_encode_takes_a_video(tmp_path: Path) -> None:
    source = media.generated("h264_bframes.mp4")

    assert main(["encode", str(source), str(tmp_path / "a.mkv"), "-p", "codec=hevc", "-p", "preset=P1"]) == 0

    assert len(tricodec.FrameReader(tmp_path / "a.mkv")) == len(tricodec.FrameReader(source))


def test_explain_prints_every_parameter_for_each_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["encode", "--explain", "-p", "bf=3", "-p", "codec=h264", "-p", "slice_mode=0", "-p", "slice_data=9"]) == 0
    )

    text = capsys.readouterr().out
    assert "libx264" in text
    assert "h264_nvenc" in text
    assert "bf=2" in text
    assert "slice-max-mbs=9" in text
    assert "refused: slice mode 0 is not possible" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["encode"], "INPUT and OUTPUT"),
        (["encode", "a", "b", "-p", "bf"], "NAME=VALUE"),
        (["encode", "a.yuv", "b.mp4"], "pass --size HEIGHTxWIDTH"),
        (["encode", str(media.generated("h264_bframes.mp4")), "b.mp4", "-p", "bitrat=3"], "did you mean 'bitrate'"),
        (["encode", "--explain", "-p", "preset=fast"], "P1, P2"),
        (["transcode", "no-such-file.mp4", "b.mp4"], "no-such-file"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert text in lines[0]


def test_raw_input_that_ends_in_mid_picture_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yuv").write_bytes(bytes(96 * 64 * 2))

    assert main(["encode", str(tmp_path / "a.yuv"), str(tmp_path / "a.mp4"), "--size", "64x96"]) == 1
    assert "ends with 3072 bytes of a picture of 9216" in capsys.readouterr().err


def test_transcode_writes_the_range_that_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = media.generated("h264_bframes.mp4")

    status = main(
        ["transcode", str(source), str(tmp_path / "a.mp4"), "--start", "0.4", "--end", "1.2", "--size", "90x160",
         "--preset", "ultrafast", "--fast-start"]
    )  # fmt: skip

    assert status == 0
    assert "20 frames" in capsys.readouterr().out
    out = tricodec.FrameReader(tmp_path / "a.mp4")
    assert (len(out), out.stream.width, out.stream.height) == (20, 160, 90)
