# SPDX-License-Identifier: Apache-2.0
"""The names of torchcodec 0.17 on tricodec's engines: ``tricodec_compat.install("torchcodec")``.

docs/migration/compat.md lists what is covered and what differs.
"""

from __future__ import annotations

from tricodec.installation import cmake_dir, library_path
from tricodec.io.ffmpeg_utils import get_versions

from tricodec_compat._packages import VERSIONS
from tricodec_compat.torchcodec import decoders, encoders, samplers, transforms
from tricodec_compat.torchcodec._results import AudioSamples, Frame, FrameBatch

__version__ = VERSIONS["torchcodec"]
version = __version__
# libavcodec 59 is of FFmpeg 5.
ffmpeg_major_version: int | None = get_versions()["libavcodec"][0] - 54
core_library_path: str | None = str(library_path())
cmake_prefix_path = cmake_dir()

__all__ = [
    "AudioSamples",
    "Frame",
    "FrameBatch",
    "__version__",
    "cmake_prefix_path",
    "core_library_path",
    "decoders", "encoders",
    "ffmpeg_major_version",
    "samplers",
    "transforms",
    "version",
]  # fmt: skip
