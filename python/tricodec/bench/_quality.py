# SPDX-License-Identifier: Apache-2.0
"""The difference between an encoded video and its source: PSNR, SSIM and, by an ffmpeg with libvmaf, VMAF."""

from __future__ import annotations

import functools
import importlib
import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec.io import StreamReader

_CHUNK = 8  # frames compared at a time


@dataclass(frozen=True)
class Quality:
    """Quality of a whole video compared with its source."""

    psnr_y: float
    """PSNR in dB from the mean squared error of luma over all frames; infinite without any difference."""
    ssim_y: float
    """Structural similarity of luma, mean over all frames, at most 1."""
    vmaf: float | None
    """VMAF, 0 to 100; None without an ffmpeg with libvmaf."""
    worst_frame: int
    """Number of the frame with the lowest PSNR."""
    worst_psnr_y: float
    """PSNR of that frame in dB."""


def _psnr(mean_squared_error: float) -> float:
    return 10 * math.log10(255**2 / mean_squared_error) if mean_squared_error > 0 else math.inf


def ssim(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Structural similarity of two pictures of one channel, as FFmpeg's filter ``ssim`` defines it.

    Means, variances and the covariance are those of windows of 8x8 pixels, one every 4 pixels.

    Args:
        a: uint8 [height, width], at least 8x8.
        b: uint8 [height, width], the size of `a`.
    """
    height, width = (extent // 4 * 4 for extent in a.shape)

    def windows(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        blocks = values.reshape(height // 4, 4, width // 4, 4).sum(axis=(1, 3))
        total: npt.NDArray[np.int64] = blocks[:-1, :-1] + blocks[1:, :-1] + blocks[:-1, 1:] + blocks[1:, 1:]
        return total

    x, y = (picture[:height, :width].astype(np.int64) for picture in (a, b))
    sum_x, sum_y = windows(x), windows(y)
    squares, products = windows(x * x + y * y), windows(x * y)
    c1 = int(0.01**2 * 255**2 * 64 + 0.5)
    c2 = int(0.03**2 * 255**2 * 64 * 63 + 0.5)
    variances = squares * 64 - sum_x * sum_x - sum_y * sum_y
    covariance = products * 64 - sum_x * sum_y
    numerator = (2 * sum_x * sum_y + c1).astype(np.float64) * (2 * covariance + c2)
    denominator = (sum_x * sum_x + sum_y * sum_y + c1).astype(np.float64) * (variances + c2)
    return float((numerator / denominator).mean())


def measure_quality(data: bytes, frames: Any, source: str | None = None) -> Quality:
    """Decode an encoded video and compare it with its source.

    Args:
        data: the file.
        frames: the source, uint8 [time, 3, height, width], yuv444p.
        source: the filter expression that made `frames`, for VMAF; None omits VMAF.

    Raises:
        RuntimeError: the file has another number of frames.
    """
    reader = StreamReader(data, arrays="numpy")
    reader.add_basic_video_stream(_CHUNK, -1, format="yuv444p", decoder_option={"threads": "0"})
    errors: list[float] = []
    similarities: list[float] = []
    for (chunk,) in reader.stream():
        luma = np.asarray(chunk)[:, 0]
        wanted = frames[len(errors) : len(errors) + len(luma), 0]
        for ours, theirs in zip(luma, wanted, strict=False):
            difference = ours.astype(np.int32) - theirs
            errors.append(float(np.mean(difference * difference)))
            similarities.append(ssim(ours, theirs))
    if len(errors) != len(frames):
        message = f"the encoded video has {len(errors)} frames, its source {len(frames)}"
        raise RuntimeError(message)
    worst = int(np.argmax(errors))
    return Quality(
        psnr_y=_psnr(float(np.mean(errors))),
        ssim_y=float(np.mean(similarities)),
        vmaf=measure_vmaf(data, source) if source and vmaf_ffmpeg() else None,
        worst_frame=worst,
        worst_psnr_y=_psnr(errors[worst]),
    )


def _candidates() -> Iterator[str]:
    named = os.environ.get("TRICODEC_FFMPEG")
    if named:  # it excludes all others
        yield named
        return
    on_path = shutil.which("ffmpeg")
    if on_path:
        yield on_path
    try:
        # Its binary has libvmaf, which those of some distributions have not (Debian 12).
        yield importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except (ImportError, RuntimeError):  # not installed, or without a binary for this machine
        return


@functools.cache
def vmaf_ffmpeg() -> str | None:
    """The ffmpeg for VMAF; None if none has libvmaf.

    If ``TRICODEC_FFMPEG`` is set, only that program counts; else ``ffmpeg`` and that of the package imageio-ffmpeg.

    Raises:
        FileNotFoundError: ``TRICODEC_FFMPEG`` names a program that does not exist.
    """
    for program in _candidates():
        try:
            filters = subprocess.run([program, "-hide_banner", "-filters"], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            message = f"TRICODEC_FFMPEG names {program!r}, which does not exist; name an ffmpeg, or unset it"
            raise FileNotFoundError(message) from None
        if " libvmaf " in filters.stdout:
            return program
    return None


def measure_vmaf(data: bytes, source: str) -> float:
    """The mean VMAF of all frames, 0 to 100, by libvmaf's default model.

    Args:
        data: the encoded file.
        source: the filter expression that made its pictures.

    Raises:
        RuntimeError: there is no ffmpeg with libvmaf, or it fails.
    """
    program = vmaf_ffmpeg()
    if program is None:
        message = "no ffmpeg with libvmaf was found; pip install imageio-ffmpeg, or name one by TRICODEC_FFMPEG"
        raise RuntimeError(message)
    with tempfile.TemporaryDirectory() as folder:
        video, log = Path(folder) / "video.mp4", Path(folder) / "vmaf.json"
        video.write_bytes(data)
        number = "settb=AVTB,setpts=N/30/TB"  # compares frames by number, because time stamps differ by rounding
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
