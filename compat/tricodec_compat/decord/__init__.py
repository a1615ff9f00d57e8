# SPDX-License-Identifier: Apache-2.0
"""The names of decord 0.6 and decord2 on tricodec's engines: ``tricodec_compat.install("decord")``.

docs/migration/compat.md lists what is covered and what differs.
"""

from __future__ import annotations

from tricodec_compat._packages import DISTRIBUTIONS, VERSIONS
from tricodec_compat.decord import base, bridge, logging, ndarray
from tricodec_compat.decord import ndarray as nd
from tricodec_compat.decord.audio_reader import AudioReader
from tricodec_compat.decord.av_reader import AVReader
from tricodec_compat.decord.base import ALL, DECORDError, DECORDLimitReachedError
from tricodec_compat.decord.ndarray import cpu, gpu
from tricodec_compat.decord.video_loader import VideoLoader
from tricodec_compat.decord.video_reader import VideoReader

__all__ = [
    "ALL", "AVReader", "AudioReader", "DECORDError", "DECORDLimitReachedError", "VideoLoader", "VideoReader",
    "__version__", "base", "bridge", "cpu", "gpu", "logging", "nd", "ndarray",  # noqa: F822  (see __getattr__)
]  # fmt: skip


def __getattr__(name: str) -> str:
    if name == "__version__":
        return VERSIONS[DISTRIBUTIONS["decord"]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
