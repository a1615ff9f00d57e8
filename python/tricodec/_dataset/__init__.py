# SPDX-License-Identifier: Apache-2.0
"""An index of many videos: one Parquet file with a row for each, from which readers open without reading packets."""

from __future__ import annotations

from tricodec._dataset._batches import ClipBatches
from tricodec._dataset._build import IndexSummary
from tricodec._dataset._clips import Dataset
from tricodec._dataset._damage import DamagedClip
from tricodec._dataset._describe import Reading
from tricodec._dataset._examine import Examination, Finding
from tricodec._dataset._index import DatasetIndex
from tricodec._dataset._lerobot import LeRobotClips
from tricodec._dataset._sampler import ClipSampler
from tricodec._public import public_names

__all__ = [
    "ClipBatches", "ClipSampler", "DamagedClip", "Dataset", "DatasetIndex", "Examination", "Finding", "IndexSummary",
    "LeRobotClips", "Reading",
]  # fmt: skip
__dir__ = public_names(globals())
