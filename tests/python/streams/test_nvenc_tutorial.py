# SPDX-License-Identifier: Apache-2.0
"""torchaudio's NVENC tutorial runs on tricodec, on a machine without an encoder too."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import media
import numpy as np


def test_the_tutorial_runs(tmp_path: Path) -> None:
    command = [sys.executable, media.REPOSITORY / "examples/nvenc_tutorial.py", tmp_path / "out"]
    sizes = ["--duration", "0.25", "--repeats", "1", "--resolutions", "360p"]

    result = subprocess.run([*command, *sizes], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    assert f"numpy {np.__version__}" in result.stdout
    assert "FFmpeg Library versions:" in result.stdout
    assert re.search(r"^ - (no CUDA device|cuda:0)", result.stdout, re.MULTILINE)
    assert "Testing resolution: 640x360" in result.stdout
    assert len(re.findall(r" - Processed 8 frames in [\d.]+ seconds\. \([\d.]+ fps\)", result.stdout)) >= 3
    assert all(float(value) > 30 for value in re.findall(r"PSNR of luma ([\d.]+) dB", result.stdout))
    assert next((tmp_path / "out").glob("*.mp4")).stat().st_size > 1000
