# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/ run and print what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import media
import numpy as np
import pytest
from preloaded import with_modules
from pynv_helpers.pixels import nv12_bytes

EXAMPLES = media.REPOSITORY / "examples"


def ended(path: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """An example after its end, where tricodec is imported already."""
    return with_modules("numpy", "tricodec").run(path, *arguments, cwd=Path.cwd())


def run(name: str, *arguments: str | Path) -> str:
    result = ended(EXAMPLES / name, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in sorted(EXAMPLES.glob("*.py"))])
def test_example_without_arguments_says_how_it_is_used(path: Path) -> None:
    result = ended(path)

    assert result.returncode == 2
    assert re.search(rf"usage: (python )?{path.name} ", result.stderr, re.IGNORECASE)


def test_the_nvenc_tutorial_measures_encoders(tmp_path: Path) -> None:
    text = run("nvenc_tutorial.py", tmp_path / "out", "--duration", "0.25", "--repeats", "1", "--resolutions", "360p")

    assert f"numpy {np.__version__}" in text
    assert "FFmpeg Library versions:" in text
    assert re.search(r"^ - (no CUDA device|cuda:0)", text, re.MULTILINE)
    assert "Testing resolution: 640x360" in text
    assert len(re.findall(r" - Processed 8 frames in [\d.]+ seconds\. \([\d.]+ fps\)", text)) >= 3
    assert all(float(value) > 30 for value in re.findall(r"PSNR of luma ([\d.]+) dB", text))
    assert next((tmp_path / "out").glob("*.mp4")).stat().st_size > 1000


def test_decode_example_writes_every_frame(tmp_path: Path) -> None:
    clip = media.generated("h264_bframes.mp4")
    output = tmp_path / "frames.yuv"

    text = run("pynv_decode.py", clip, "-o", output)

    assert text == f"50 frames, 320x180 NV12, 0.000 s to 1.960 s -> {output}\n"
    assert output.read_bytes() == b"".join(nv12_bytes(data, 320, 180) for data in media.ffmpeg_frames(clip))


def test_decode_example_starts_at_a_key_frame(tmp_path: Path) -> None:
    clip = media.generated("h264_bframes.mp4")

    text = run("pynv_decode.py", clip, "-o", tmp_path / "frames.yuv", "--start", "0.5")

    assert text.startswith("26 frames, 320x180 NV12, 0.960 s to 1.960 s")


def test_byte_stream_example_decodes_pieces() -> None:
    clip = media.generated("h264_raw.h264")
    means = [np.frombuffer(data, np.uint8)[: 320 * 180].mean() for data in media.ffmpeg_frames(clip)]

    command = [sys.executable, "-W", "error", EXAMPLES / "pynv_byte_stream.py", "h264", "--piece", "777"]
    result = subprocess.run(command, input=clip.read_bytes(), capture_output=True, check=True)

    assert [line.split()[-1] for line in result.stdout.decode().splitlines()] == [f"{mean:.2f}" for mean in means]
