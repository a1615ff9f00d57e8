# SPDX-License-Identifier: Apache-2.0
"""How much an encoded video differs from its source: PSNR, SSIM and, where an ffmpeg has it, VMAF."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec.bench._vmaf import measure_vmaf, vmaf_ffmpeg
from tricodec.io import StreamReader

_CHUNK = 8  # frames compared at a time


@dataclass(frozen=True)
class Quality:
    """Of a whole video against its source."""

    psnr_y: float
    """Of the mean squared error of luma over all frames, in dB; infinite where it is the source's."""
    ssim_y: float
    """Structural similarity of luma, mean over all frames, at most 1."""
    vmaf: float | None
    """0 to 100; None where no ffmpeg with libvmaf was found."""
    worst_frame: int
    """The one of the lowest PSNR."""
    worst_psnr_y: float
    """Its PSNR in dB."""


def _psnr(mean_squared_error: float) -> float:
    return 10 * math.log10(255**2 / mean_squared_error) if mean_squared_error > 0 else math.inf


def ssim(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Structural similarity of two pictures of one channel, as FFmpeg's filter ``ssim`` defines it.

    Means, variances and the covariance are taken over windows of 8x8 pixels, which begin every 4.

    Args:
        a: uint8 [height, width], at least 8x8.
        b: as `a`.
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
    """Decodes an encoded video and compares it.

    Args:
        data: the file.
        frames: the source, uint8 [time, 3, height, width], yuv444p.
        source: the filter expression that gave `frames`, for VMAF; None leaves VMAF out.

    Raises:
        RuntimeError: if the file has another number of frames.
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
