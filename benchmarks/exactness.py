# SPDX-License-Identifier: Apache-2.0
"""Compares the frames of every stream of docs/explanation/exactness.md with MD5s from independent sources.

python -m benchmarks.exactness [--device cpu] [--output benchmarks/results/exactness.csv]
python -m benchmarks.exactness --device auto --output benchmarks/results/exactness_gpu.csv

The second one is for a machine with a GPU; where the GPU refuses a stream, the CPU decodes it. The exit status is 1 if
frames differ that are not known to.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.environment import ROOT, environment
from benchmarks.goals import header, line
from benchmarks.results import FOLDER, Row

ON_GPU = "exactness_gpu.csv"


def _verdict(row: Row | None) -> str:
    if row is None:
        return "not run"
    if row.value is None:
        return row.note
    engine = row.contender.split()[0]
    place = "" if engine == "NVDEC" else " by the CPU"
    return f"{row.value:.0f} of {row.runs} frames{place}"


def table(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """A line a stream: what it covers, where its MD5s are from, how many frames have them on the CPU and on the GPU."""
    path = FOLDER / ON_GPU
    gpu_facts, gpu_rows = results.read(path) if path.is_file() else ({}, [])
    on_gpu = {row.input: row for row in gpu_rows}
    name = f"{gpu_facts['gpu']}, {gpu_facts['date'][:10]}" if gpu_facts else "GPU"
    lines = [header(["stream", "covers", "MD5s from", f"CPU, {facts['date'][:10]}", name])]
    for row in rows:
        cpu = _verdict(row).removesuffix(" by the CPU")
        lines.append(line([f"`{row.input}`", row.task, row.setting, cpu, _verdict(on_gpu.get(row.input))]))
    same = sum(row.value == row.runs for row in rows)
    return f"{same} of {len(rows)} streams are exact on the CPU.\n\n{''.join(lines)}"


def main() -> int:
    """Writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="as FrameReader takes it; default: %(default)s")
    parser.add_argument("--output", type=Path, default=FOLDER / "exactness.csv")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests/python/helpers"))
    import exact_streams
    from exact_encoded import NotInThisFfmpeg

    start = time.monotonic()
    rows = []
    differing = []
    for stream in exact_streams.STREAMS:
        row = Row(stream.covers, stream.name, "", stream.source, unit="frames")
        try:
            engine, found, expected = exact_streams.frames_of(stream, arguments.device)
        except NotInThisFfmpeg as error:
            rows.append(dataclasses.replace(row, note=str(error).splitlines()[-1]))
            continue
        equal = sum(one == other for one, other in zip(found, expected, strict=False))
        exact = equal == len(expected) == len(found)
        if not exact and not stream.known:
            differing.append(stream.name)
        rows.append(
            dataclasses.replace(
                row, contender=engine, value=float(equal), runs=max(len(expected), len(found)), note=stream.known
            )
        )
        print(f"{stream.name}: {equal} of {len(expected)} frames, {engine}", flush=True)
    results.write(arguments.output, environment(time.monotonic() - start), rows)
    if differing:
        print(f"frames differ: {', '.join(differing)}", file=sys.stderr)
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
