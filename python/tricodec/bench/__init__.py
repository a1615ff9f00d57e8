# SPDX-License-Identifier: Apache-2.0
"""Measurements of encoders on this machine: time, size and quality."""

from __future__ import annotations

from tricodec._public import public_names
from tricodec.bench._encode import EncodeSetting, Measurement, encode, generate, software_settings
from tricodec.bench._quality import Quality, measure_quality, measure_vmaf, ssim, vmaf_ffmpeg
from tricodec.bench._report import write_report
from tricodec.bench._run import RESOLUTIONS, EncodeReport, run_encode

__all__ = [
    "RESOLUTIONS", "EncodeReport", "EncodeSetting", "Measurement", "Quality", "encode", "generate", "measure_quality",
    "measure_vmaf", "run_encode", "software_settings", "ssim", "vmaf_ffmpeg", "write_report",
]  # fmt: skip
__dir__ = public_names(globals())
