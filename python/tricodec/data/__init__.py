# SPDX-License-Identifier: Apache-2.0
"""Data sets of many videos: an index in one Parquet file, and clips of its videos for training.

    import tricodec

    tricodec.data.DatasetIndex.build(["videos/"], "videos.parquet")
    clips = tricodec.data.Dataset("videos.parquet", clip_length=16, size=(224, 224))

`tricodec.data.torch` has loaders for PyTorch, and `tricodec.data.ray` reads and transcodes on a Ray cluster.
"""

from tricodec.data._batches import ClipBatches
from tricodec.data._build import IndexSummary
from tricodec.data._clip_reader import DamagedClip
from tricodec.data._clips import Dataset
from tricodec.data._doctor import examine
from tricodec.data._index import DatasetIndex
from tricodec.data._lerobot import LeRobotClips
from tricodec.data._sampler import ClipSampler

__all__ = [
    "ClipBatches", "ClipSampler", "DamagedClip", "Dataset", "DatasetIndex", "IndexSummary", "LeRobotClips", "examine",
]  # fmt: skip
