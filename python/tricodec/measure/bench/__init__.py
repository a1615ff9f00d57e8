# SPDX-License-Identifier: Apache-2.0
"""Measurements on this machine: throughput and latency of any work."""

from tricodec.measure.bench._engines import (
    PIPELINES,
    DecodeEngine,
    EncodeEngine,
    PipelineEngine,
    TranscodeEngine,
    TransformEngine,
    clip_or,
)
from tricodec.measure.bench._engines_compress import DIRECTIONS, CompressEngine
from tricodec.measure.bench._engines_serve import MODELS, ServeEngine
from tricodec.measure.bench._figures import Figures
from tricodec.measure.bench._load import Clock, Done, Load, Query, Rules, Window, Windows, Work, run
from tricodec.measure.bench._results import environment, flat_result, libraries, session_csv, session_json
from tricodec.measure.bench._session import Case, Engine, Knee, Measured, Session, Sweep, Threshold, parse_range
from tricodec.measure.bench._statistics import PERCENTILES, Distribution, knee, needed_values, percentile_of
from tricodec.video.cores import processor

__all__ = [
    "DIRECTIONS", "MODELS", "PERCENTILES", "PIPELINES", "Case", "Clock", "CompressEngine",
    "DecodeEngine", "Distribution", "Done", "EncodeEngine", "Engine", "Figures", "Knee", "Load", "Measured",
    "PipelineEngine", "Query", "Rules", "ServeEngine", "Session", "Sweep", "Threshold", "TranscodeEngine",
    "TransformEngine", "Window", "Windows", "Work", "clip_or", "environment", "flat_result",
    "knee", "libraries", "needed_values", "parse_range", "percentile_of", "processor", "run", "session_csv",
    "session_json",
]  # fmt: skip
