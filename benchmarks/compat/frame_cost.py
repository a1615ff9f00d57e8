# SPDX-License-Identifier: Apache-2.0
"""Time of a frame, one after another, by pairs of processes: python -m benchmarks.compat.frame_cost CLIP.

Each package that imports is run by turns with tricodec under its name. A line a package: median wall and processor
microseconds a frame of both, and the median ratio of the pairs, above 1 if tricodec needs less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PACKAGES = ("torchcodec", "decord")


def one_run(package: str, library: str, clip: str) -> None:
    """Prints the wall and processor microseconds of a frame, the median of three readers."""
    if library == "tricodec":
        import tricodec.compat

        tricodec.compat.install(package)
    from benchmarks.compat.program import USERS

    user = USERS[package]("cpu")
    runs = []
    for _ in range(3):
        video = user.open(clip)
        count = len(video)
        used, begun = time.process_time(), time.perf_counter()
        for i in range(count):
            user.frame(video, i)
        runs.append(((time.perf_counter() - begun) / count * 1e6, (time.process_time() - used) / count * 1e6))
    print(json.dumps(sorted(runs)[1]))


def measure(package: str, library: str, clip: str) -> Any:
    """What such a run prints; None if the package is missing."""
    command = [sys.executable, "-m", "benchmarks.compat.frame_cost", clip, "--run", package, library]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(result.stdout.splitlines()[-1]) if result.returncode == 0 else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat.frame_cost", description=__doc__)
    parser.add_argument("clip", type=Path, help="a video")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs (5)")
    parser.add_argument("--run", nargs=2, metavar=("PACKAGE", "LIBRARY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        one_run(*options.run, str(options.clip))
        return
    for package in PACKAGES:
        pairs = [[measure(package, each, str(options.clip)) for each in ("original", "tricodec")]
                 for _ in range(options.pairs)]  # fmt: skip
        if pairs[0][0] is None:
            print(f"{package} is left out: it does not import or read {options.clip.name}")
            continue
        medians = [[statistics.median(pair[library][what] for pair in pairs) for what in (0, 1)] for library in (0, 1)]
        ratios = [statistics.median(pair[0][what] / pair[1][what] for pair in pairs) for what in (0, 1)]
        print(
            f"{package}, {len(os.sched_getaffinity(0))} cores, {options.clip.name}: wall {medians[0][0]:.0f} and "
            f"{medians[1][0]:.0f} us, {ratios[0]:.2f}x; processor {medians[0][1]:.0f} and {medians[1][1]:.0f} us, "
            f"{ratios[1]:.2f}x"
        )


if __name__ == "__main__":
    main()
