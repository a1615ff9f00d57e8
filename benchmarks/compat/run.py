# SPDX-License-Identifier: Apache-2.0
"""Measures program.py with the originals and with tricodec, by turns: python -m benchmarks.compat.run CLIP.

The interpreter needs tricodec, torch, torchcodec and decord2. The results are in benchmarks/results/compat.csv. Those
of --clock wall are in compat_wall.csv, those of --device cuda in compat_gpu.csv.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.compat.program import CLOCKS, TASKS
from benchmarks.environment import environment, listed
from benchmarks.results import Row

_PACKAGES = {"torchcodec": "torchcodec", "decord": "decord2"}


def measure(package: str, library: str, options: argparse.Namespace) -> dict[str, Any]:
    """What the program prints."""
    program = Path(__file__).with_name("program.py")
    command = [sys.executable, str(program), package, library, str(options.clip), options.device, options.clock]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(result.stderr[-2000:])
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat.run", description=__doc__)
    parser.add_argument("clip", type=Path, help="a video of 100 frames or more")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs (3)")
    parser.add_argument("--packages", nargs="+", choices=_PACKAGES, default=list(_PACKAGES), help="all by default")
    parser.add_argument("--device", default="cpu", help="cpu (default), or cuda: of torchcodec alone")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="processor", help="processor (default), or wall on a quiet machine"
    )
    parser.add_argument("--output", type=Path, help="the CSV to write")
    options = parser.parse_args()
    if options.device != "cpu":
        options.packages, options.clock = ["torchcodec"], "wall"
    cores = len(os.sched_getaffinity(0))
    unit = "s" if options.clock == "wall" else "CPU s"
    begun = time.monotonic()
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(options.rounds):
        for package in options.packages:
            for library in ("original", "tricodec"):
                runs.setdefault((package, library), []).append(measure(package, library, options))
    rows = []
    for package in options.packages:
        theirs, ours = runs[package, "original"], runs[package, "tricodec"]
        for task in [each for each in TASKS if each in theirs[0]["seconds"]]:
            for contender, found in ((package, theirs), ("tricodec", ours)):
                row = Row(
                    task=task, input=options.clip.name, contender=contender, setting=package, unit=unit, cores=cores
                )
                memory = max(run["memory_mb"] for run in found) if task == "sequential" else None
                rows.append(row.with_runs([run["seconds"][task] for run in found], memory_mb=memory))
            ratios = [a["seconds"][task] / b["seconds"][task] for a, b in zip(theirs, ours, strict=True)]
            pair = Row(
                task=task, input=options.clip.name, contender="tricodec", setting=package, against=package, cores=cores
            )
            rows.append(pair.with_ratios(ratios))
    packages = [_PACKAGES[each] for each in options.packages]
    versions = listed({name: importlib.metadata.version(name) for name in ("torch", *packages)})
    facts = environment(time.monotonic() - begun)
    facts["device"] = options.device
    facts["libraries"] = f"{facts['libraries']}, {versions}"
    name = "compat_gpu.csv" if options.device != "cpu" else f"compat{'_wall' * (options.clock == 'wall')}.csv"
    results.write(options.output or results.FOLDER / name, facts, rows)


if __name__ == "__main__":
    main()
