# SPDX-License-Identifier: Apache-2.0
"""`tricodec bench quality` and the tutorial: figures against the ffmpeg command line, the report against its parts."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import media
import numpy as np
import pytest
from programs import run_python
from tricodec import bench
from tricodec.cli import main

pytest.importorskip("matplotlib")

DURATION = 0.25


def ffmpeg_quality(path: Path, filter_name: str, width: int, height: int, program: str = "ffmpeg") -> str:
    source = f"testsrc2=rate={30000 / 1001}:size={width}x{height}:duration={DURATION}"
    command = [program, "-nostdin", "-hide_banner", "-i", path, "-f", "lavfi", "-i", source]
    number = "settb=AVTB,setpts=N/30/TB"  # frames are compared by number
    graph = f"[0:v]format=yuv444p,{number}[a];[1:v]format=yuv444p,{number}[b];[a][b]{filter_name}"
    result = subprocess.run([*command, "-lavfi", graph, "-f", "null", "-"], capture_output=True, text=True, check=True)
    return result.stderr


@pytest.fixture(scope="module")
def report_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report, with what --json printed beside it."""
    folder = tmp_path_factory.mktemp("bench") / "report"
    sizes = ["--resolutions", "360p", "--duration", str(DURATION), "--repeats", "1", "--threads", "1,2"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["bench", "quality", "--output", str(folder), *sizes, "--no-sweep", "--json"]) == 0
    (folder / "said.json").write_text(said.getvalue())
    return folder


def test_quality_is_what_ffmpegs_filters_measure(tmp_path: Path) -> None:
    frames = bench.generate(640, 360, DURATION)
    (setting,) = bench.software_settings([1])
    _, _, data = bench.encode(frames, setting, crf="35")
    path = tmp_path / "a.mp4"
    path.write_bytes(data)

    quality = bench.measure_quality(data, frames)

    psnr = re.search(r"PSNR y:([\d.]+)", ffmpeg_quality(path, "psnr", 640, 360))
    ssim = re.search(r"SSIM Y:([\d.]+)", ffmpeg_quality(path, "ssim", 640, 360))
    assert psnr is not None
    assert ssim is not None
    assert quality.psnr_y == pytest.approx(float(psnr[1]), abs=0.01)
    assert quality.ssim_y == pytest.approx(float(ssim[1]), abs=1e-4)
    assert quality.worst_psnr_y <= quality.psnr_y


SOURCE = f"testsrc2=rate={30000 / 1001}:size=640x360:duration={DURATION}"


def test_vmaf_is_what_libvmaf_says(tmp_path: Path) -> None:
    program = bench.vmaf_ffmpeg()
    assert program is not None, "imageio-ffmpeg, of tools/requirements-test.txt, brings an ffmpeg that has libvmaf"
    frames = bench.generate(640, 360, DURATION)
    (setting,) = bench.software_settings([1])
    files = [bench.encode(frames, setting, crf=crf)[2] for crf in ("20", "48")]

    fine, coarse = (bench.measure_quality(data, frames, SOURCE).vmaf for data in files)

    path = tmp_path / "a.mp4"
    path.write_bytes(files[1])
    said = re.search(r"VMAF score: ([\d.]+)", ffmpeg_quality(path, "libvmaf", 640, 360, program))
    assert said is not None
    assert coarse == pytest.approx(float(said[1]), abs=1e-3)
    assert fine is not None
    assert 90 < fine <= 100
    assert coarse < fine - 5


@pytest.mark.parametrize("program", ["/bin/true", "/nowhere/ffmpeg"])
def test_an_ffmpeg_that_is_named_is_the_only_one_that_is_asked(program: str) -> None:
    result = run_python("from tricodec import bench; print(bench.vmaf_ffmpeg())", TRICODEC_FFMPEG=program)

    if program == "/bin/true":
        assert result.stdout == "None\n"
    else:
        assert "TRICODEC_FFMPEG names '/nowhere/ffmpeg', which does not exist" in result.stderr


def test_without_libvmaf_vmaf_is_left_out_with_the_reason() -> None:
    code = (
        "from tricodec import bench\n"
        "frames = bench.generate(64, 48, 0.1)\n"
        "data = bench.encode(frames, bench.software_settings([1])[0])[2]\n"
        "print(bench.measure_quality(data, frames, 'testsrc2').vmaf)\n"
        "bench.measure_vmaf(data, 'testsrc2')\n"
    )

    result = run_python(code, TRICODEC_FFMPEG="/bin/true")

    assert result.stdout == "None\n"
    assert "RuntimeError: no ffmpeg with libvmaf was found; pip install imageio-ffmpeg" in result.stderr


def test_a_lossless_video_has_no_distortion() -> None:
    frames = bench.generate(640, 360, DURATION)
    (setting,) = bench.software_settings([1])

    _, _, data = bench.encode(frames, setting, qp="0")

    quality = bench.measure_quality(data, frames)
    assert math.isinf(quality.psnr_y)
    assert quality.ssim_y == 1


def test_a_video_that_lacks_frames_is_not_compared() -> None:
    frames = bench.generate(640, 360, DURATION)
    (setting,) = bench.software_settings([1])
    _, _, data = bench.encode(frames[:-1], setting)

    with pytest.raises(RuntimeError, match="frames, its source"):
        bench.measure_quality(data, frames)


def test_similarity_falls_with_noise() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (37, 50), np.uint8)

    assert bench.ssim(picture, picture) == 1
    assert bench.ssim(picture, 255 - picture) < 0


def test_json_prints_the_results_and_the_names_of_the_files(report_folder: Path) -> None:
    said = json.loads((report_folder / "said.json").read_text())

    files = said.pop("files")
    assert said == json.loads((report_folder / "encode.json").read_text())
    assert files[-1] == str(report_folder / "encode.html")
    assert all(Path(file).is_file() for file in files)


def test_the_report_has_every_setting_with_figures_or_a_reason(report_folder: Path) -> None:
    result = json.loads((report_folder / "encode.json").read_text())

    rows = result["measurements"]
    assert [row["label"] for row in rows] == [
        "Software Encoding (threads=1)",
        "Software Encoding (threads=2)",
        "Hardware Encoding (CPU Tensor)",
        "Hardware Encoding (CUDA Tensor)",
    ]
    for row in rows:
        if row["reason"]:
            assert row["encoder"] == "h264_nvenc"
            continue
        assert row["num_frames"] == 8
        assert 0 < row["write_seconds"][0] <= row["total_seconds"][0]
        assert row["size_bytes"] > 1000
        assert row["psnr_y_db"] > 30
        assert 80 < row["vmaf"] <= 100
        assert 0.9 < row["ssim_y"] <= 1


def test_four_bit_rates_give_a_rising_curve(report_folder: Path) -> None:
    curve = json.loads((report_folder / "encode.json").read_text())["rate_distortion"]

    points = [(row["size_bytes"], row["psnr_y_db"]) for row in curve if row["encoder"] == curve[0]["encoder"]]
    assert len(points) == 4
    assert points == sorted(points)
    assert points[-1][1] > points[0][1] + 3


def test_the_page_needs_no_other_file(report_folder: Path) -> None:
    page = (report_folder / "encode.html").read_text()

    pictures = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    names = ("times_and_sizes.png", "rate_distortion.png", "worst_frames.png")
    assert [base64.b64decode(each) for each in pictures] == [(report_folder / name).read_bytes() for name in names]
    assert all(each.startswith("iVBORw0KGgo") for each in pictures)
    assert not re.search(r"(src|href)=[\"'](?!data:)", page)
    assert "Software Encoding (threads=2)" in page


def test_findings_are_told_with_their_figures(report_folder: Path) -> None:
    findings = json.loads((report_folder / "encode.json").read_text())["findings"]

    assert len(findings) == 7
    assert {each["here"] for each in findings} <= {"yes", "no", "unavailable"}
    assert all(each["figures"] for each in findings)


def test_wrong_sizes_are_named() -> None:
    with pytest.raises(ValueError, match="480p"):
        bench.run_encode(["480p"])


def test_the_tutorial_runs(tmp_path: Path) -> None:
    command = [sys.executable, media.REPOSITORY / "examples/nvenc_tutorial.py", tmp_path / "out"]
    sizes = ["--duration", str(DURATION), "--repeats", "1", "--resolutions", "360p"]

    # The tests above measure VMAF, which takes longer than encoding.
    variables = {**os.environ, "TRICODEC_FFMPEG": "/bin/true"}
    result = subprocess.run([*command, *sizes], capture_output=True, text=True, check=False, env=variables)

    assert result.returncode == 0, result.stderr
    assert f"numpy {np.__version__}" in result.stdout
    assert "FFmpeg Library versions:" in result.stdout
    assert re.search(r"^ - (no CUDA device|cuda:0)", result.stdout, re.MULTILINE)
    assert "Testing resolution: 640x360" in result.stdout
    assert re.search(r" - Processed 8 frames in [\d.]+ seconds\. \([\d.]+ fps\)", result.stdout)
    assert (tmp_path / "out" / "encode.html").exists()
