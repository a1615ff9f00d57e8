# SPDX-License-Identifier: Apache-2.0
"""`tricodec bench quality` and the tutorial: figures against the ffmpeg command line, the report against its parts."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
from pathlib import Path

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
