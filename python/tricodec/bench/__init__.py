# SPDX-License-Identifier: Apache-2.0
"""Measurements that run where the package is installed: what encoding costs here, and what it gives."""

from __future__ import annotations

from tricodec.bench._encode import EncodeSetting, Measurement, encode, generate, software_settings
from tricodec.bench._quality import Quality, measure_quality, ssim
from tricodec.bench._report import write_report
from tricodec.bench._run import RESOLUTIONS, EncodeReport, run_encode
from tricodec.bench._vmaf import measure_vmaf, vmaf_ffmpeg

__all__ = [
    "RESOLUTIONS",
    "EncodeReport",
    "EncodeSetting",
    "Measurement",
    "Quality",
    "encode",
    "generate",
    "measure_quality",
    "measure_vmaf",
    "run_encode",
    "software_settings",
    "ssim",
    "vmaf_ffmpeg",
    "write_report",
]
