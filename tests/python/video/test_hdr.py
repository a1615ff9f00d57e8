# SPDX-License-Identifier: Apache-2.0
"""PQ and HLG: what probe, doctor and the log say of them."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import tricodec
from media import ffmpeg, ffprobe

_DISPLAY = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"
_X265 = (
    "-c:v libx265 -preset ultrafast -pix_fmt yuv420p10le -color_primaries bt2020 -colorspace bt2020nc -color_trc {trc} "
    "-x265-params log-level=error:hdr10=1:repeat-headers={repeat}:master-display=" + _DISPLAY + ":max-cll=1000,400"
)


def _clip(folder: Path, ending: str = "mp4", trc: str = "smpte2084", options: str | None = None) -> Path:
    path = folder / f"{trc}.{ending}"
    repeat = int(ending in ("ts", "hevc"))
    ffmpeg("-f lavfi -i testsrc2=s=64x48:r=5:d=1", options or _X265.format(trc=trc, repeat=repeat), path)
    return path


@pytest.mark.parametrize("ending", ["mp4", "mkv", "ts"])
def test_probe_shows_the_mastering_display_and_the_light_level(ending: str, tmp_path: Path) -> None:
    path = _clip(tmp_path, ending)
    stream = tricodec.probe(path).video
    assert stream is not None
    display = stream.mastering_display
    assert display is not None
    assert display["red"] == pytest.approx((0.68, 0.32))
    assert display["green"] == pytest.approx((0.265, 0.69))
    assert display["blue"] == pytest.approx((0.15, 0.06))
    assert display["white"] == pytest.approx((0.3127, 0.329))
    assert (display["min_luminance"], display["max_luminance"]) == pytest.approx((0.005, 1000))
    assert stream.content_light == {"max_cll": 1000, "max_fall": 400}
    assert stream.to_dict()["content_light"] == stream.content_light
    command = [sys.executable, "-m", "tricodec", "probe", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "MaxCLL 1000 MaxFALL 400" in shown
    assert "mastered at 0.005 to 1000 cd/m2" in shown


@pytest.mark.parametrize("ending", ["mp4", "mkv"])
def test_a_transcode_keeps_the_mastering_display_and_the_light_level(ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{ending}"
    result = tricodec.transcode(_clip(tmp_path, "ts"), out, codec="hevc", pixel_format="yuv420p10le")
    assert result.left_out == ""
    stream = ffprobe(out, "-show_streams")["streams"][0]
    display, light = sorted(stream["side_data_list"], key=lambda data: data["side_data_type"], reverse=True)
    numbers = {name: float(Fraction(value)) for name, value in display.items() if "/" in str(value)}
    assert numbers == pytest.approx({
        "red_x": 0.68, "red_y": 0.32, "green_x": 0.265, "green_y": 0.69, "blue_x": 0.15, "blue_y": 0.06,
        "white_point_x": 0.3127, "white_point_y": 0.329, "min_luminance": 0.005, "max_luminance": 1000,
    })  # fmt: skip
    assert (light["max_content"], light["max_average"]) == (1000, 400)


def test_a_transcode_to_a_container_without_room_for_the_mastering_display_says_so(tmp_path: Path) -> None:
    result = tricodec.transcode(_clip(tmp_path), tmp_path / "out.ts", codec="hevc", pixel_format="yuv420p10le")
    assert "mastering display" in result.left_out


@pytest.mark.parametrize(
    ("program", "warns"),
    [
        ("tricodec.decode_video(path, device='cpu')", True),
        ("[frame.pack() for frame in tricodec.FrameReader(path, device='cpu')]", False),
        ("tricodec.transcode(path, None, format='matroska', codec='hevc', device='cpu')", False),
    ],
)
@pytest.mark.parametrize("trc", ["smpte2084", "arib-std-b67"])
def test_eight_bits_of_hdr_warn_once(program: str, warns: bool, trc: str, tmp_path: Path) -> None:
    path = _clip(tmp_path, trc=trc)
    code = f"import tricodec\npath = {str(path)!r}\nfor i in range(3): {program}"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "TRICODEC_LOG": ""}
    ).stderr
    assert told.count("washed out") == int(warns), told
    assert not warns or ("tonemap" in told and "tricodec.io" in told)


def test_the_named_filter_maps_the_tones(tmp_path: Path) -> None:
    path = _clip(tmp_path)
    code = f"import tricodec\ntricodec.decode_video({str(path)!r}, device='cpu')"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    description = told.split('filter_desc="')[1].split('"')[0]

    from tricodec.io import StreamReader

    reader = StreamReader(str(path))
    reader.add_video_stream(5, filter_desc=description)
    (chunk,) = next(iter(reader.stream()))
    expected = ffmpeg("-i", path, f"-vf {description} -f rawvideo -pix_fmt yuv420p", "-")
    assert len(expected) == 5 * 64 * 48 * 3 // 2
    assert bytes(np.ascontiguousarray(chunk[0, 0])) == expected[: 64 * 48]


def test_doctor_finds_hdr(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path / "videos"
    folder.mkdir()
    _clip(folder)
    _clip(folder, trc="arib-std-b67")
    _clip(folder, "mkv", trc="bt709", options="-c:v libx264 -pix_fmt yuv420p")
    tricodec.data.DatasetIndex.build([folder], tmp_path / "index.parquet")
    facts = tricodec.data.examine(tricodec.data.DatasetIndex(tmp_path / "index.parquet"))
    (found,) = [each for each in facts["findings"] if each["name"] == "hdr"]
    assert sorted(video["detail"] for video in found["videos"]) == ["HLG", "PQ"]
