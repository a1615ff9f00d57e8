# SPDX-License-Identifier: Apache-2.0
"""The example programs of the drop-in PyNvVideoCodec run and give the right frames."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import media
import numpy as np
from pynv_helpers.pixels import nv12_bytes

EXAMPLES = media.REPOSITORY / "examples"


def run(name: str, *arguments: str, stdin: bytes = b"") -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    result = subprocess.run(command, input=stdin, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def test_decode_example_writes_every_frame(tmp_path: Path) -> None:
    clip = media.generated("h264_bframes.mp4")
    output = tmp_path / "frames.yuv"

    text = run("pynv_decode.py", str(clip), "-o", str(output))

    assert text == f"50 frames, 320x180 NV12, 0.000 s to 1.960 s -> {output}\n"
    assert output.read_bytes() == b"".join(nv12_bytes(data, 320, 180) for data in media.ffmpeg_frames(clip))


def test_decode_example_starts_at_a_key_frame(tmp_path: Path) -> None:
    clip = media.generated("h264_bframes.mp4")

    text = run("pynv_decode.py", str(clip), "-o", str(tmp_path / "frames.yuv"), "--start", "0.5")

    assert text.startswith("26 frames, 320x180 NV12, 0.960 s to 1.960 s")


def test_byte_stream_example_decodes_pieces() -> None:
    clip = media.generated("h264_raw.h264")
    means = [np.frombuffer(data, np.uint8)[: 320 * 180].mean() for data in media.ffmpeg_frames(clip)]

    text = run("pynv_byte_stream.py", "h264", "--piece", "777", stdin=clip.read_bytes())

    assert [line.split()[-1] for line in text.splitlines()] == [f"{mean:.2f}" for mean in means]
