# SPDX-License-Identifier: Apache-2.0
"""What encoders do with their parameters, which no clock is needed for: bit rates met, frames held back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import PyNvVideoCodec as nvc

from benchmarks.results import Row

TUNINGS = ("high_quality", "low_latency", "ultra_low_latency")


def _encoder(codec: str, size: tuple[int, int], **options: Any) -> Any:
    return nvc.CreateEncoder(size[0], size[1], "YUV420", True, codec=codec, **options)


def bit_rate(raw: Path, size: tuple[int, int], codec: str, rc: str, wanted: int) -> Row:
    """By how many percent the bits per second of the pictures (30 a second) differ from `wanted`."""
    frames = np.memmap(raw, np.uint8, "r").reshape(-1, size[0] * size[1] * 3 // 2)
    encoder = _encoder(codec, size, rc=rc, bitrate=wanted, maxbitrate=wanted * 3 // 2, vbvbufsize=wanted, preset="P3",
                       use_ivf_container=0)  # fmt: skip
    total = sum(encoder.Encode(np.asarray(frame)).nbytes for frame in frames) + encoder.EndEncode().nbytes
    got = total * 8 * 30 / len(frames)
    error = 100 * abs(got - wanted) / wanted
    return Row("bit_rate", codec, "tricodec", rc, value=error, unit="%", runs=1, note=f"{got:.0f} for {wanted} bit/s")


def latency(raw: Path, size: tuple[int, int], codec: str, tuning: str) -> Row:
    """The most frames that were given and had not come out as packets when the encoder returned."""
    frames = np.memmap(raw, np.uint8, "r").reshape(-1, size[0] * size[1] * 3 // 2)
    encoder = _encoder(codec, size, tuning_info=tuning, preset="P3")
    out, most = 0, 0
    for number, frame in enumerate(frames, 1):
        out += len(encoder.Encode(np.asarray(frame)))
        most = max(most, number - out)
    out += len(encoder.EndEncode())
    if out != len(frames):
        message = f"{codec} gave {out} packets of {len(frames)} pictures"
        raise RuntimeError(message)
    return Row("latency", codec, "tricodec", tuning, value=float(most), unit="frames", runs=1)
