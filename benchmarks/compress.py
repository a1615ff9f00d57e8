# SPDX-License-Identifier: Apache-2.0
"""Measures lossless compression against its peers in one process and writes JSON and a plot (docs/benchmarks.md).

python benchmarks/compress.py                the CPU: results/compress.json and compress.svg, eight minutes at most
python benchmarks/compress.py --quick        a minute; writes where --output says, or nothing
python benchmarks/compress.py --gpu          a GPU, against NVIDIA's own package where it is installed

Data are the files of --shared DIR/data and the pictures of a clip of DIR/clips; without them they are made from fixed
seeds. On the CPU every other contender runs right before or right after a run of tricodec's, so that each round gives a
ratio of two neighboring runs, and what is judged are the medians of those ratios; speeds are medians over rounds, in
GB/s of uncompressed data. A group of contenders ends early once its goals are decided and its ratios known to 3 %, and
what that saves goes to those after it.
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
import compress_library
import numpy as np
from compress_goals import TARGETS, compared, told
from compress_peers import FAMILIES, Contender, Family, absent, contenders
from compress_versions import explain
from environment import ROOT, environment
from pairs import excludes, half_width, is_vague, quartiles, turn

_CLIP = "bigbuckbunny.mp4"
_BYTES = {"full": 32 << 20, "quick": 8 << 20, "gpu": 256 << 20}
_SLOW_PART = 4  # of the bytes, for the algorithms at a tenth of the others' speed
_FULL_SECONDS, _QUICK_SECONDS = 390.0, 60.0
_VERSIONS_PART = 0.15  # of the seconds, for what a package's newer library is worth
_LEAST_ROUNDS = 3  # of a full run: what is known of a spread from fewer says nothing
_LEAST_SPREAD = 0.02  # of the ratios of runs right after each other, as two or three may agree by chance
_WAYS = ("compress", "decompress")
_CLOCKS = ("wall", "cpu")

Seconds = dict[str, float]
"""Of one run, by the clock and of all cores' work."""


@dataclass
class Times:
    """What one contender's runs took, and how many times as fast tricodec's run beside each was."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    pairs: dict[str, list[float]] = field(default_factory=lambda: {clock: [] for clock in _CLOCKS})

    def add(self, seconds: Seconds) -> None:
        """One more run."""
        self.wall.append(seconds["wall"])
        self.cpu.append(seconds["cpu"])


@dataclass
class Group:
    """Contenders at one algorithm on the same data, measured in turns; the first is who the others are paired with."""

    data_name: str
    chunk_bytes: int
    family: Family
    size: int
    members: list[Contender]
    times: dict[tuple[str, str], Times] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)

    def round(self, number: int) -> None:
        """Each member once beside a run of the first one's."""
        ours, *others = self.members
        for way in _WAYS:
            last: tuple[Contender, Seconds] | None = None
            for member in turn([ours], others, number):
                seconds = self._run(member, way)
                if last is not None and ours in (member, last[0]):
                    other, theirs, mine = (last[0], last[1], seconds) if member is ours else (member, seconds, last[1])
                    for clock in _CLOCKS:
                        self.times[other.name, way].pairs[clock].append(theirs[clock] / mine[clock])
                last = (member, seconds)

    def _run(self, member: Contender, way: str) -> Seconds:
        cpu, wall = time.process_time(), time.perf_counter()
        getattr(member, way)()
        seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        self.times.setdefault((member.name, way), Times()).add(seconds)
        return seconds

    def is_decided(self, cores: int) -> bool:
        """Whether more rounds would change no verdict, and no ratio that is shown by much."""
        for (name, _), times in self.times.items():
            ratios = times.pairs["wall"]
            if name not in TARGETS or not ratios:
                continue
            targets = TARGETS[name](cores)
            known = [excludes(ratios, target, least_spread=_LEAST_SPREAD) for target in targets]
            if is_vague(ratios) or not all(known):
                return False
        return True

    def warm_up(self) -> None:
        """Memory is touched, and what comes back is what went in."""
        for member in self.members:
            member.compress()
            self.ratios[member.name] = member.check()

    def _speed(self, seconds: list[float]) -> float:
        return round(self.size / statistics.median(seconds) / 1e9, 4)

    def _row(self, member: Contender) -> dict[str, Any]:
        row = {
            "data": self.data_name,
            "chunk_bytes": self.chunk_bytes,
            "family": self.family.name,
            "contender": member.name,
            "ratio": round(self.ratios[member.name], 4),
        }
        for way in _WAYS:
            times = self.times[member.name, way]
            row[f"{way}_gbps"] = self._speed(times.wall)
            row[f"{way}_gb_per_cpu_second"] = self._speed(times.cpu)
        row["rounds"] = len(self.times[member.name, "compress"].wall)
        if member is self.members[0]:
            return row
        for way in _WAYS:
            for clock, ratios in self.times[member.name, way].pairs.items():
                low, middle, high = quartiles(ratios)
                row[f"{way}_{clock}_pairs"] = {
                    "median": round(middle, 4),
                    "quartiles": [round(low, 4), round(high, 4)],
                    "known_to": round(half_width(ratios), 4),
                }
        return row

    def rows(self) -> list[dict[str, Any]]:
        """A row a member."""
        return [self._row(member) for member in self.members]


def _part(data: np.ndarray, family: Family) -> np.ndarray:
    return data[: data.size // _SLOW_PART] if family.slow else data


def cpu_rows(
    datas: dict[str, np.ndarray], chunk_sizes: list[int], families: list[Family], rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """All groups, one after the other; each has its share of the time that is left, and two rounds at least."""
    threads = len(os.sched_getaffinity(0))
    rows = []
    end = time.monotonic() + seconds
    plan = [(name, chunk, family) for name in datas for chunk in chunk_sizes for family in families]
    with ThreadPoolExecutor(threads) as pool:
        for index, (name, chunk_bytes, family) in enumerate(plan):
            now = time.monotonic()
            deadline = now + (end - now) / (len(plan) - index)
            data = _part(datas[name], family)
            group = Group(name, chunk_bytes, family, data.size, contenders(family, data, chunk_bytes, pool, threads))
            group.warm_up()
            for number in range(rounds):
                enough = number >= _LEAST_ROUNDS and group.is_decided(threads)
                if enough or (number >= 2 and time.monotonic() > deadline):
                    break
                group.round(number)
            rows += group.rows()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="folder with data/ and clips/")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--libraries", type=Path, help="compare with those of tools/build_libraries.py there")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--size", type=int, help="bytes of each set of data; 32 MiB, quick 8 MiB, on a GPU 256 MiB")
    parser.add_argument("--rounds", type=int, help="at most; 25, quick 3, on a GPU 5")
    parser.add_argument("--chunk-sizes", type=int, nargs="+", default=[65536, 1 << 20])
    parser.add_argument("--family", nargs="+", choices=[family.name for family in FAMILIES], help="only these")
    parser.add_argument("--data", nargs="+", help="only these sets of data")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    started = time.monotonic()
    if options.libraries:
        compress_library.use(options.libraries)
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
        rounds = options.rounds or (3 if options.quick else 25)
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
