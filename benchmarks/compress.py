# SPDX-License-Identifier: Apache-2.0
"""Measures lossless compression against its peers in one process and writes JSON and a plot (docs/benchmarks.md).

python benchmarks/compress.py                the CPU: results/compress.json and compress.svg, six minutes at most
python benchmarks/compress.py --quick        a minute; writes where --output says, or nothing
python benchmarks/compress.py --gpu          a GPU, against NVIDIA's own package where it is installed

Data are the files of --shared DIR/data and the pictures of a clip of DIR/clips; without them they are made from fixed
seeds. Contenders take turns, and each figure is the median over rounds. Speeds are in GB/s of uncompressed data.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import compress_inputs
import numpy as np
from compress_goals import compared, told
from compress_peers import FAMILIES, Contender, Family, absent, contenders
from compress_versions import explain
from environment import ROOT, environment

_CLIP = "bigbuckbunny.mp4"
_BYTES = {"full": 32 << 20, "quick": 8 << 20, "gpu": 256 << 20}
_SLOW_PART = 4  # of the bytes, for the algorithms at a tenth of the others' speed
_FULL_SECONDS, _QUICK_SECONDS = 285.0, 60.0
_VERSIONS_PART = 0.15  # of the seconds, for what a package's newer library is worth
_WAYS = ("compress", "decompress")


@dataclass
class Times:
    """Seconds of one contender's rounds, by the clock and of all cores' work."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


@dataclass
class Group:
    """Contenders at one algorithm on the same data, measured in turns."""

    data_name: str
    chunk_bytes: int
    family: Family
    size: int
    members: list[Contender]
    times: dict[tuple[str, str], Times] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)

    def round(self, number: int) -> None:
        """Each member once; who is first changes from round to round."""
        first = number % len(self.members)
        for member in self.members[first:] + self.members[:first]:
            for way in _WAYS:
                times = self.times.setdefault((member.name, way), Times())
                cpu, wall = time.process_time(), time.perf_counter()
                getattr(member, way)()
                times.wall.append(time.perf_counter() - wall)
                times.cpu.append(time.process_time() - cpu)

    def warm_up(self) -> None:
        """Memory is touched, and what comes back is what went in."""
        for member in self.members:
            member.compress()
            self.ratios[member.name] = member.check()

    def _speed(self, seconds: list[float]) -> float:
        return round(self.size / statistics.median(seconds) / 1e9, 4)

    def rows(self) -> list[dict[str, Any]]:
        """A row a member."""
        return [
            {
                "data": self.data_name,
                "chunk_bytes": self.chunk_bytes,
                "family": self.family.name,
                "contender": member.name,
                "ratio": round(self.ratios[member.name], 4),
                **{
                    f"{way}_{unit}": self._speed(getattr(self.times[member.name, way], clock))
                    for way in _WAYS
                    for clock, unit in (("wall", "gbps"), ("cpu", "gb_per_cpu_second"))
                },
                "rounds": len(self.times[member.name, "compress"].wall),
            }
            for member in self.members
        ]  # fmt: skip


def _part(data: np.ndarray, family: Family) -> np.ndarray:
    return data[: data.size // _SLOW_PART] if family.slow else data


def cpu_rows(
    datas: dict[str, np.ndarray], chunk_sizes: list[int], families: list[Family], rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """All groups, one after the other; each gets its share of the time, and two rounds at least."""
    threads = len(os.sched_getaffinity(0))
    rows = []
    started = time.monotonic()
    plan = [(name, chunk, family) for name in datas for chunk in chunk_sizes for family in families]
    with ThreadPoolExecutor(threads) as pool:
        for index, (name, chunk_bytes, family) in enumerate(plan):
            data = _part(datas[name], family)
            group = Group(name, chunk_bytes, family, data.size, contenders(family, data, chunk_bytes, pool, threads))
            group.warm_up()
            deadline = started + seconds * (index + 1) / len(plan)
            for number in range(rounds):
                if number >= 2 and time.monotonic() > deadline:
                    break
                group.round(number)
            rows += group.rows()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="folder with data/ and clips/")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--size", type=int, help="bytes of each set of data; 32 MiB, quick 8 MiB, on a GPU 256 MiB")
    parser.add_argument("--rounds", type=int, help="at most; 9, quick 3, on a GPU 5")
    parser.add_argument("--chunk-sizes", type=int, nargs="+", default=[65536, 1 << 20])
    parser.add_argument("--family", nargs="+", choices=[family.name for family in FAMILIES], help="only these")
    parser.add_argument("--data", nargs="+", help="only these sets of data")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    started = time.monotonic()
    kind = "gpu" if options.gpu else "quick" if options.quick else "full"
    size = options.size or _BYTES[kind]
    folder, clip = options.shared / "data", options.shared / "clips" / _CLIP
    datas = compress_inputs.files(folder, size) if folder.is_dir() else compress_inputs.made(size)
    if options.gpu:
        from compress_gpu import goals_of, gpu_rows

        rounds = options.rounds or 5
        rows = gpu_rows(datas, rounds)
        goals: list[dict[str, Any]] = goals_of(rows)
    else:
        if not options.data or "frames" in options.data:
            datas |= compress_inputs.frames(clip if clip.is_file() else None, size)
        datas = {name: data for name, data in datas.items() if not options.data or name in options.data}
        families = [family for family in FAMILIES if not options.family or family.name in options.family]
        families = [family for family in families if family.name != "Bitcomp" or _has_bitcomp()]
        rounds = options.rounds or (3 if options.quick else 9)
        seconds = _QUICK_SECONDS if options.quick else _FULL_SECONDS
        rows = cpu_rows(datas, options.chunk_sizes, families, rounds, seconds)
        goals = compared(rows, len(os.sched_getaffinity(0)))
        explain(goals, lambda name, family: _part(datas[name], family), _VERSIONS_PART * seconds)
    print(told(goals))
    standard = ROOT / "benchmarks/results" / ("compress_gpu.json" if options.gpu else "compress.json")
    output = options.output or (None if options.quick else standard)
    if output is None:
        return
    report = {
        "environment": environment(time.monotonic() - started),
        "rounds": rounds,
        "bytes": size,
        "absent": absent(),
        "rows": rows,
        "goals": goals,
    }
    output.write_text(json.dumps(report, indent=1) + "\n")
    if not options.gpu:
        from compress_plot import save

        save(report, output.with_suffix(".svg"))
    print(f"{output}: {len(rows)} rows in {time.monotonic() - started:.0f} s")


def _has_bitcomp() -> bool:
    import tricodec

    return not tricodec.compress.compression_algorithms()["Bitcomp"]


if __name__ == "__main__":
    main()
