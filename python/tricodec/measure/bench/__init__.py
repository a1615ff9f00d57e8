# SPDX-License-Identifier: Apache-2.0
"""Measurements on this machine: throughput and latency of any work."""

from tricodec.measure.bench._engines import (
    PIPELINES,
    clip_or,
    decode_engine,
    encode_engine,
    open_dali,
    pipeline_engine,
    transcode_engine,
    transform_engine,
)
from tricodec.measure.bench._engines_compress import DIRECTIONS, compress_engine
from tricodec.measure.bench._engines_serve import MODELS, serve_engine
from tricodec.measure.bench._figures import PERCENTILES, Distribution, Figures, knee, needed_values, percentile_of
from tricodec.measure.bench._load import Clock, Done, Load, Query, Rules, Window, Windows, Work, run
from tricodec.measure.bench._results import environment, flat_result, libraries, session_csv, session_json
from tricodec.measure.bench._session import Case, Engine, Knee, Measured, Session, Threshold, cases_of, parse_range
from tricodec.video.cores import processor

__all__ = [
    "DIRECTIONS", "MODELS", "PERCENTILES", "PIPELINES", "Case", "Clock", "Distribution", "Done", "Engine", "Figures",
    "Knee", "Load", "Measured", "Query", "Rules", "Session", "Threshold", "Window", "Windows", "Work", "cases_of",
    "clip_or", "compress_engine", "decode_engine", "encode_engine", "environment", "flat_result", "knee", "libraries",
    "needed_values", "open_dali", "parse_range", "percentile_of", "pipeline_engine", "processor", "run",
    "serve_engine", "session_csv", "session_json", "transcode_engine", "transform_engine",
]  # fmt: skip
