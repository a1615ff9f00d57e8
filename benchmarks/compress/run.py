# SPDX-License-Identifier: Apache-2.0
"""Measures lossless compression against its peers in one process (docs/reference/benchmarks.md).

python -m benchmarks.compress.run                the CPU: results/compress.csv, eight minutes at most
python -m benchmarks.compress.run --quick        a minute; writes where --output says, or nothing
python -m benchmarks.compress.run --gpu          a GPU, against NVIDIA's own package where it is installed

Data are the files of --shared DIR/data and the pictures of a clip of DIR/clips; without them they are made from fixed
seeds. On the CPU every other contender runs right before or right after a run of tricodec's, so that each round gives a
ratio of two neighboring runs, and what is judged are the medians of those ratios; speeds are medians over rounds, in
GB/s of uncompressed data. A group of contenders ends early once its goals are decided and its ratios known to 3 %, and
what that saves goes to those after it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks import results
from benchmarks.compress import inputs, library
from benchmarks.compress.contenders import FAMILIES, Contender, Family, absent, contenders
from benchmarks.compress.goals import LIBRARY, OF_LIBRARY, goals_of
from benchmarks.environment import ROOT, environment
from benchmarks.pairs import Spread, turn
from benchmarks.results import Row

_CLIP = "bigbuckbunny.mp4"
_BYTES = {"full": 32 << 20, "quick": 8 << 20, "gpu": 256 << 20}
_SLOW_PART = 4  # of the bytes, for the algorithms at a tenth of the others' speed
_FULL_SECONDS, _QUICK_SECONDS = 390.0, 60.0
_LEAST_ROUNDS = 3  # of a full run: what is known of a spread from fewer says nothing
_LEAST_SPREAD = 0.02  # of the ratios of runs right after each other, as two or three may agree by chance
WAYS = ("compress", "decompress")


@dataclass(frozen=True)
class Seconds:
    """Of one run, by the clock and of all cores' work."""

    wall: float
    cpu: float


@dataclass
class Times:
    """What one contender's runs took, and how many times as fast tricodec's run beside each was."""

    runs: list[Seconds] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    cpu_ratios: list[float] = field(default_factory=list)


@dataclass
class Group:
    """Contenders at one algorithm on the same data, measured in turns; the others are paired with the first."""

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
        for way in WAYS:
            last: tuple[Contender, Seconds] | None = None
            for member in turn([ours], others, number) or [ours]:
                seconds = self._run(member, way)
                if last is not None and ours in (member, last[0]):
                    other, theirs, mine = (last[0], last[1], seconds) if member is ours else (member, seconds, last[1])
                    times = self.times[other.name, way]
                    times.ratios.append(theirs.wall / mine.wall)
                    times.cpu_ratios.append(theirs.cpu / mine.cpu)
                last = (member, seconds)

    def _run(self, member: Contender, way: str) -> Seconds:
        cpu, wall = time.process_time(), time.perf_counter()
        getattr(member, way)()
        seconds = Seconds(time.perf_counter() - wall, time.process_time() - cpu)
        self.times.setdefault((member.name, way), Times()).runs.append(seconds)
        return seconds

    def is_decided(self) -> bool:
        """Whether more rounds would change no verdict against the C library, and no ratio that is shown by much."""
        for way in WAYS:
            times = self.times.get((LIBRARY, way), Times())
            spread = Spread.of(times.ratios) if times.ratios else None
            if spread and (spread.is_vague or not spread.excludes(OF_LIBRARY, _LEAST_SPREAD)):
                return False
        return True

    def warm_up(self) -> None:
        """Memory is touched, and what comes back is what went in."""
        for member in self.members:
            member.compress()
            self.ratios[member.name] = member.check()

    def rows(self) -> Iterator[Row]:
        """A row a member and way, and one for each that tricodec is compared with."""
        ours = self.members[0].name
        setting = f"{self.chunk_bytes >> 10} KiB"
        for (name, way), times in self.times.items():
            row = Row(f"{way} {self.family.name}", self.data_name, name, setting, unit="GB/s")
            cpu = statistics.median(run.cpu for run in times.runs)
            speeds = [self.size / run.wall / 1e9 for run in times.runs]
            yield row.with_runs(speeds, cpu_ms=cpu / self.size * 1e9, ratio=self.ratios[name])
            if times.ratios:
                pair = Row(row.task, row.input, ours, setting, against=name)
                yield pair.with_ratios(times.ratios)
                if name == LIBRARY:
                    yield Row(row.task, row.input, ours, setting, against=f"{name}, CPU time").with_ratios(
                        times.cpu_ratios
                    )


def cpu_rows(
    datas: dict[str, np.ndarray], chunk_sizes: list[int], families: list[Family], rounds: int, seconds: float
) -> list[Row]:
    """All groups, one after the other; each has its share of the time that is left, and two rounds at least."""
    threads = len(os.sched_getaffinity(0))
    rows: list[Row] = []
    end = time.monotonic() + seconds
    plan = [(name, chunk, family) for name in datas for chunk in chunk_sizes for family in families]
    with ThreadPoolExecutor(threads) as pool:
        for index, (name, chunk_bytes, family) in enumerate(plan):
            now = time.monotonic()
            deadline = now + (end - now) / (len(plan) - index)
            data = inputs.part(datas[name], family.slow, _SLOW_PART)
            group = Group(name, chunk_bytes, family, data.size, contenders(family, data, chunk_bytes, pool, threads))
            group.warm_up()
            for number in range(rounds):
                enough = number >= _LEAST_ROUNDS and group.is_decided()
                if enough or (number >= 2 and time.monotonic() > deadline):
                    break
                group.round(number)
            rows += group.rows()
    return rows


def _arguments() -> argparse.ArgumentParser:
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
    return parser


def main() -> None:
    options = _arguments().parse_args()
    started = time.monotonic()
    if options.libraries:
        library.use(options.libraries)
    kind = "gpu" if options.gpu else "quick" if options.quick else "full"
    size = options.size or _BYTES[kind]
    clip = options.shared / "clips" / _CLIP
    datas = inputs.arrays(options.shared / "data", size)
    rounds = options.rounds or {"full": 25, "quick": 3, "gpu": 5}[kind]
    if options.gpu:
        from benchmarks.compress.gpu import gpu_rows

        rows = gpu_rows(datas, rounds)
    else:
        if not options.data or "frames" in options.data:
            datas |= inputs.frames(clip if clip.is_file() else None, size)
        datas = {name: data for name, data in datas.items() if not options.data or name in options.data}
        families = [family for family in FAMILIES if not options.family or family.name in options.family]
        families = [family for family in families if family.name != "Bitcomp" or _has_bitcomp()]
        seconds = _QUICK_SECONDS if options.quick else _FULL_SECONDS
        rows = cpu_rows(datas, options.chunk_sizes, families, rounds, seconds)
    for goal in goals_of(rows):
        print(goal.describe())
    standard = results.FOLDER / ("compress_gpu.csv" if options.gpu else "compress.csv")
    output = options.output or (None if options.quick else standard)
    if output is not None:
        more = {"rounds": rounds, "bytes": size, "absent": ", ".join(absent()) or None}
        results.write(output, {**environment(time.monotonic() - started), **more}, rows)
        print(f"{output}: {len(rows)} rows in {time.monotonic() - started:.0f} s")


def _has_bitcomp() -> bool:
    import tricodec

    return not tricodec.compress.compression_algorithms()["Bitcomp"]


if __name__ == "__main__":
    main()
