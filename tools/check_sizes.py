# SPDX-License-Identifier: Apache-2.0
"""Reports how large each part of the project is, and refuses one that outgrows its bound.

A bound is what the part needs today, or less. A commit that raises one says why.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

BOUNDS: dict[str, tuple[tuple[str, ...], int, int]] = {
    "core": (("core",), 52_270, 435),
    "core/image/cuda": (("core/image/cuda",), 2_745, 18),
    "bindings": (("python/bindings",), 9_670, 58),
    "python": (("python/tricodec", "python/PyNvVideoCodec"), 37_850, 251),
    "plugin": (("plugin",), 6_500, 49),
    "triton_backend": (("triton_backend",), 5_800, 44),
    "tests": (("tests",), 71_870, 438),
    "results": (("benchmarks/results",), 5_310, 32),
    "repository": ((".",), 0, 1_628),
}
"""By name: its folders, the most lines (0: not counted), the most files."""


def tracked(folders: tuple[str, ...]) -> list[Path]:
    """The files of the folders that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, check=True, capture_output=True).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


def main() -> int:
    """Prints a line a part; the exit status is 1 if one is too large."""
    too_large = False
    for name, (folders, most_lines, most_files) in BOUNDS.items():
        files = tracked(folders)
        lines = sum(path.read_bytes().count(b"\n") for path in files) if most_lines else 0
        exceeds = lines > most_lines or len(files) > most_files
        too_large = too_large or exceeds
        counted = f"{lines:6,} lines of {most_lines:6,}, " if most_lines else " " * 25
        print(f"{name:16} {counted}{len(files):4} files of {most_files:4}{'  TOO LARGE' if exceeds else ''}")
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
