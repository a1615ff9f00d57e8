# SPDX-License-Identifier: Apache-2.0
"""Measures program.py with the originals and with tricodec, by turns: python -m benchmarks.compat.run CLIP.

The interpreter needs tricodec, torch, torchcodec and decord2. The results are in benchmarks/results/compat.csv.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.compat.program import TASKS
from benchmarks.environment import environment, listed
from benchmarks.results import Row

_PACKAGES = {"torchcodec": "torchcodec", "decord": "decord2"}


def measure(package: str, library: str, clip: Path) -> dict[str, Any]:
    """What the program prints."""
    command = [sys.executable, str(Path(__file__).with_name("program.py")), package, library, str(clip)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(result.stderr[-2000:])
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat.run", description=__doc__)
    parser.add_argument("clip", type=Path, help="a video of 100 frames or more")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs (3)")
    options = parser.parse_args()
    begun = time.monotonic()
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(options.rounds):
        for package in _PACKAGES:
            for library in ("original", "tricodec"):
                runs.setdefault((package, library), []).append(measure(package, library, options.clip))
    rows = []
    for package in _PACKAGES:
        theirs, ours = runs[package, "original"], runs[package, "tricodec"]
        for task in TASKS:
            for contender, found in ((package, theirs), ("tricodec", ours)):
                row = Row(
                    task=task, input=options.clip.name, contender=contender, setting=package, unit="CPU s", cores=2
                )
                memory = max(run["memory_mb"] for run in found) if task == "sequential" else None
                rows.append(row.with_runs([run["seconds"][task] for run in found], memory_mb=memory))
            ratios = [a["seconds"][task] / b["seconds"][task] for a, b in zip(theirs, ours, strict=True)]
            pair = Row(
                task=task, input=options.clip.name, contender="tricodec", setting=package, against=package, cores=2
            )
            rows.append(pair.with_ratios(ratios))
    versions = listed({name: importlib.metadata.version(name) for name in ("torch", *_PACKAGES.values())})
    facts = environment(time.monotonic() - begun)
    facts["libraries"] = f"{facts['libraries']}, {versions}"
    results.write(results.FOLDER / "compat.csv", facts, rows)


if __name__ == "__main__":
    main()
