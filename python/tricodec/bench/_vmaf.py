# SPDX-License-Identifier: Apache-2.0
"""VMAF, by an ffmpeg command line that has libvmaf."""

from __future__ import annotations

import functools
import importlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def _candidates() -> Iterator[str]:
    named = os.environ.get("TRICODEC_FFMPEG")
    if named:  # and no other
        yield named
        return
    on_path = shutil.which("ffmpeg")
    if on_path:
        yield on_path
    try:
        # A binary of its own, which has libvmaf where distributions' have not (Debian 12).
        yield importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except (ImportError, RuntimeError):  # not installed, or without a binary for this machine
        return


@functools.cache
def vmaf_ffmpeg() -> str | None:
    """The ffmpeg that VMAF is measured with, None where none has libvmaf.

    Looked for: what ``TRICODEC_FFMPEG`` names, and nothing else if it does; ``ffmpeg``; that of the package
    imageio-ffmpeg.

    Raises:
        FileNotFoundError: if ``TRICODEC_FFMPEG`` names a program that is not there.
    """
    for program in _candidates():
        try:
            filters = subprocess.run([program, "-hide_banner", "-filters"], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            message = f"TRICODEC_FFMPEG names {program!r}, which is not there; name an ffmpeg, or unset it"
            raise FileNotFoundError(message) from None
        if " libvmaf " in filters.stdout:
            return program
    return None


def measure_vmaf(data: bytes, source: str) -> float:
    """The mean VMAF of all frames, 0 to 100, by libvmaf's default model.

    Args:
        data: the encoded file.
        source: the filter expression that gave its pictures.

    Raises:
        RuntimeError: if ffmpeg has no libvmaf, or fails.
    """
    program = vmaf_ffmpeg()
    if program is None:
        message = "no ffmpeg with libvmaf was found; pip install imageio-ffmpeg brings one, TRICODEC_FFMPEG names one"
        raise RuntimeError(message)
    with tempfile.TemporaryDirectory() as folder:
        video, log = Path(folder) / "video.mp4", Path(folder) / "vmaf.json"
        video.write_bytes(data)
        number = "settb=AVTB,setpts=N/30/TB"  # frames are compared by number: time stamps differ by rounding
        graph = (
            f"[0:v]format=yuv444p,{number}[a];[1:v]format=yuv444p,{number}[b];[a][b]libvmaf=log_fmt=json:log_path={log}"
        )
        command = [program, "-nostdin", "-v", "error", "-i", str(video), "-f", "lavfi", "-i", source]
        done = subprocess.run(
            [*command, "-lavfi", graph, "-f", "null", "-"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            message = f"{program} could not measure VMAF: {done.stderr.strip()[-500:]}"
            raise RuntimeError(message)
        return float(json.loads(log.read_text())["pooled_metrics"]["vmaf"]["mean"])
