# SPDX-License-Identifier: Apache-2.0
"""Measurements on this machine: throughput and latency of any work, and encoders by time, size and quality."""

from __future__ import annotations

from tricodec._public import public_names
from tricodec.bench._clip import clip_or
from tricodec.bench._encode import EncodeSetting, Measurement, encode, generate, software_settings
from tricodec.bench._engines import DecodeEngine, EncodeEngine, TranscodeEngine, TransformEngine
from tricodec.bench._engines_compress import DIRECTIONS, CompressEngine
from tricodec.bench._engines_pipeline import PIPELINES, PipelineEngine
from tricodec.bench._engines_serve import MODELS, ServeEngine
from tricodec.bench._environment import environment, libraries, processor
from tricodec.bench._figures import Figures
from tricodec.bench._load import DISTRIBUTIONS, Clock, Load, Work, run
from tricodec.bench._page import session_page
from tricodec.bench._quality import Quality, measure_quality, measure_vmaf, ssim, vmaf_ffmpeg
from tricodec.bench._report import write_report
from tricodec.bench._results import flat_result, session_csv, session_json
from tricodec.bench._run import RESOLUTIONS, EncodeReport, run_encode
from tricodec.bench._search import highest_within, parse_range
from tricodec.bench._session import Case, Engine, Knee, Measured, Session, Sweep, Threshold
from tricodec.bench._statistics import PERCENTILES, Distribution, knee, needed_values, percentile_of
from tricodec.bench._windows import Done, Query, Rules, Window, Windows

__all__ = [
    "DIRECTIONS", "DISTRIBUTIONS", "MODELS", "PERCENTILES", "PIPELINES", "RESOLUTIONS", "Case", "Clock",
    "CompressEngine", "DecodeEngine", "Distribution", "Done", "EncodeEngine", "EncodeReport", "EncodeSetting", "Engine",
    "Figures", "Knee", "Load", "Measured", "Measurement", "PipelineEngine", "Quality", "Query", "Rules", "ServeEngine",
    "Session", "Sweep", "Threshold", "TranscodeEngine", "TransformEngine", "Window", "Windows", "Work", "clip_or",
    "encode", "environment", "flat_result", "generate", "highest_within", "knee", "libraries", "measure_quality",
    "measure_vmaf", "needed_values", "parse_range", "percentile_of", "processor", "run", "run_encode",
    "session_csv", "session_json", "session_page", "software_settings", "ssim", "vmaf_ffmpeg", "write_report",
]  # fmt: skip
__dir__ = public_names(globals())
