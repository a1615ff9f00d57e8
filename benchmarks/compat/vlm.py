# SPDX-License-Identifier: Apache-2.0
"""Measures vlm_program.py with each loader by turns: python -m benchmarks.compat.vlm CLIP ...

The interpreter needs tricodec, transformers, opencv-python-headless, av, torchcodec and decord2. A loader that is
missing, or does not end in time, is left out, and the file says why. transformers has no loader of PyNvVideoCodec. The
results are in benchmarks/results/vlm.csv.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.environment import environment
from benchmarks.results import Row

LOADERS = ("tricodec", "torchcodec", "decord", "pyav", "opencv", "control")
#: Figures of a run, their units, and how many of the latter are one.
FIGURES = {
    "requests_per_s": "requests/s", "p50_s": "s", "p99_s": "s", "late_p99_ms": "ms", "late_max_ms": "ms",
    "held_max_ms": "ms", "gpu_memory_mb": "MB",
}  # fmt: skip


def measure(
    name: str, clip: Path, at_once: int, num_requests: int, device: str = "cpu", limit_s: float | None = None
) -> dict[str, Any] | str:
    """What the program prints, or why there is nothing."""
    program = Path(__file__).with_name("vlm_program.py")
    command = [sys.executable, str(program), name, str(clip), str(at_once), str(num_requests), device]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return f"it did not end within {limit_s:g} s"
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or [f"it ended by signal {-result.returncode}"]  # 9: no memory left
        return lines[-1]
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def rows_of(clip: str, at_once: int, name: str, cores: int, runs: list[dict[str, Any]]) -> list[Row]:
    """A row a figure."""
    rows = []
    for figure, unit in FIGURES.items():
        values = [run[figure] for run in runs if run[figure] is not None]
        if not values:
            continue
        row = Row(task=figure, input=clip, contender=name, setting=f"{at_once} at once", unit=unit, cores=cores)
        memory = max(run["memory_mb"] for run in runs) if figure == "requests_per_s" else None
        used = 1000 * min(run["cpu_s"] for run in runs) if figure == "requests_per_s" else None
        rows.append(row.with_runs(values, memory_mb=memory, cpu_ms=used))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat.vlm", description=__doc__)
    parser.add_argument("clips", type=Path, nargs="+", help="videos of 1080p")
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 8, 32], help="requests at once (1 8 32)")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each loader (1)")
    parser.add_argument("--requests", type=int, default=1, help="requests for each of those at once (1)")
    parser.add_argument("--loaders", nargs="+", choices=LOADERS, default=list(LOADERS), help="all by default")
    parser.add_argument("--device", default="cpu", help="cpu (default), or cuda for loaders that decode on a GPU")
    parser.add_argument("--limit", type=float, help="seconds that a run may take; without a limit by default")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "vlm.csv", help="the CSV to write")
    options = parser.parse_args()
    begun = time.monotonic()
    cores = len(os.sched_getaffinity(0))
    runs: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    left_out: dict[str, None] = {}  # in order, each once
    for _, clip, at_once, name in itertools.product(
        range(options.rounds), options.clips, options.at_once, options.loaders
    ):
        found = measure(name, clip, at_once, max(2, at_once * options.requests), options.device, options.limit)
        if isinstance(found, str):
            left_out[f"{name} of {at_once} {clip.name}: {found[:120]}"] = None
            print(f"left out: {name} of {at_once} {clip.name}: {found}", file=sys.stderr)
            continue
        runs.setdefault((clip.name, at_once, name), []).append(found)
        # After each run, so that what was measured is kept if the rest takes too long.
        rows = [
            row for (file, number, loader), each in runs.items() for row in rows_of(file, number, loader, cores, each)
        ]
        facts = environment(time.monotonic() - begun)
        if left_out:
            facts["left_out"] = "; ".join(left_out)
        results.write(options.output, facts, rows)


if __name__ == "__main__":
    main()
