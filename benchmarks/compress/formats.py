# SPDX-License-Identifier: Apache-2.0
"""Formats and levels of compression that two builds are compared with: options of a Codec by name."""

from __future__ import annotations

from typing import Any

FORMATS: dict[str, dict[str, Any]] = {
    **{name: {"algorithm": name} for name in ("LZ4", "Snappy", "Zstd", "Cascaded")},
    "Bitcomp": {"algorithm": "Bitcomp", "data_type": "<i4"},
    **{f"LZ4 level {level}": {"algorithm": "LZ4", "level": level} for level in (3, 9)},
    **{f"Zstd level {level}": {"algorithm": "Zstd", "level": level} for level in (1, 9)},
    **{
        f"{algorithm} {strength}": {"algorithm": algorithm, "algorithm_type": strength}
        for algorithm in ("Deflate", "Gzip", "GDeflate")
        for strength in range(6)
    },
}
GPU_FORMATS: dict[str, dict[str, Any]] = {
    **{name: {"algorithm": name} for name in ("LZ4", "Snappy", "Zstd", "Cascaded", "ANS")},
    **{f"Bitcomp {kind}": {"algorithm": "Bitcomp", "algorithm_type": kind, "data_type": "<i4"} for kind in range(2)},
    **{name: options for name, options in FORMATS.items() if "algorithm_type" in options},
}
SLOW_ON_GPU = 2  # an algorithm_type
FAST = ("LZ4", "Snappy", "Zstd", "Cascaded", "Bitcomp", "Zstd level 1", "Deflate 0", "Deflate 1", "Gzip 0", "Gzip 1")
