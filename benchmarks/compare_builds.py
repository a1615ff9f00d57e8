# SPDX-License-Identifier: Apache-2.0
"""Runs user programs with two installed builds in turns, and says which became slower (docs/reference/benchmarks.md).

python -m benchmarks.compare_builds --before SITE --after SITE                  the CPU
python -m benchmarks.compare_builds --before SITE --after SITE --gpu            a GPU, instead
python -m benchmarks.compare_builds --before SITE --after SITE --processor-time decoding, on a machine in use

A site is a folder with an installed tricodec. Each run is a process of its own, and a ratio is the median over pairs of
neighboring runs: before, after, after, before, ... Every program gets four pairs; then those that are not
decided get more, two at a time, until --budget ends. Compression on a GPU takes milliseconds: a process of each build
stays for some dozen runs. The exit status is 1 if a ratio is below its bound or a cell was
not measured.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import functools
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import programs, results
from benchmarks.compress.formats import FAST, FORMATS, GPU_FORMATS, SLOW_ON_GPU
from benchmarks.decode import clips, plan
from benchmarks.decode.driver import Failed, answer_of, cores_for, request_of, to_run, worker_command
from benchmarks.decode.goals import better
from benchmarks.encode import run as encoding
from benchmarks.environment import ROOT, now
from benchmarks.gpu.goals import CODECS
from benchmarks.gpu.run import make_clips
from benchmarks.pairs import Spread
from benchmarks.sites import Residents, check_site, environment

BOUND, CHAIN_BOUND = 0.97, 0.98
_MOST_PAIRS = 16
_MOST_RESIDENT_PAIRS = 64
_FEWEST_PAIRS = 4  # two of either order: on some machines the second run of a pair is slower, whichever it is
_SURE_PAIRS = 10  # before a program is called slower: a few pairs may agree by chance on a machine in use
_LEAST_SPREAD = 0.02
#: size, frames, encoder, preset.
_ENCODES = (
    ("720p", 120, "libx264", "ultrafast"),
    ("720p", 30, "libx265", "ultrafast"),
    ("720p", 60, "libsvtav1", "12"),
)
_TRANSCODE = ("720p", 120, "ultrafast")

Values = dict[str, float]
"""By cell."""

_residents = Residents()


@dataclasses.dataclass(frozen=True)
class Compared:
    """A row of the results: one cell with both builds.

    Attributes:
        cell: its name.
        unit: of the next two.
        before: the median of the build before.
        after: the median of the build after.
        ratio: how many times better the build after is, the median over pairs of neighboring runs; of a chain, how fast
            it is with the build after beside decoding alone.
        low: the lower quartile of that.
        high: the upper quartile.
        pairs: how many there are.
        bound: what the ratio must reach.
        note: why there are too few.
    """

    cell: str
    unit: str
    before: float | None
    after: float | None
    ratio: float | None
    low: float | None
    high: float | None
    pairs: int
    bound: float
    note: str

    @property
    def passed(self) -> bool:
        """Whether it was measured and is not below the bound."""
        return self.ratio is not None and self.pairs >= _FEWEST_PAIRS and self.ratio >= self.bound

    @property
    def decided(self) -> bool:
        """Whether the pairs say on which side of the bound the ratio is."""
        if self.ratio is None or self.low is None or self.high is None:
            return False
        return Spread(self.ratio, self.low, self.high, self.pairs).excludes(self.bound, _LEAST_SPREAD)

    def describe(self) -> str:
        """One line."""
        if self.ratio is None or self.pairs < _FEWEST_PAIRS:
            verdict = "NOT MEASURED"
        else:
            verdict = "ok" if self.passed else "SLOWER" if self.decided else "UNDECIDED"
        if self.ratio is None:
            return f"{verdict:12} {self.cell}: {self.note}"
        spread = f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f}, pairs: {self.pairs})"
        both = f"{self.before:.4g} -> {self.after:.4g} {self.unit}"
        return f"{verdict:12} {self.cell}: {both}, {spread} {self.note}".rstrip()


@dataclasses.dataclass
class Program:
    """A process, the cells that it gives figures of, and those figures with either build.

    Attributes:
        command: gives what runs it; makes its clip first if that is missing.
        cores: that it may run on; 0 if all.
        units: of its cells; a cell in "x" is judged by itself.
        values: the figures of the cells, from the answer of the process and the seconds that it ran.
    """

    command: Callable[[], Sequence[str]]
    cores: int
    units: Mapping[str, str]
    values: Callable[[dict[str, Any], float], Values]
    runs: list[tuple[Values, Values]] = dataclasses.field(default_factory=list)
    failure: str = ""
    most_pairs: int = _MOST_PAIRS

    def _run(self, site: Path) -> Values:
        cores = cores_for(self.cores) if self.cores else sorted(os.sched_getaffinity(0))
        command = self.command()
        started = time.perf_counter()
        answer = answer_of(command, cores, environment(site))
        return self.values(answer, time.perf_counter() - started)

    def take_pair(self, before: Path, after: Path) -> None:
        """One run with each build; every second time the other way round."""
        try:
            if len(self.runs) % 2:
                last = self._run(after)
                self.runs.append((self._run(before), last))
            else:
                self.runs.append((self._run(before), self._run(after)))
        except (Failed, OSError, subprocess.CalledProcessError) as failure:  # of the program, or of making its clip
            self.failure = str(failure)

    def _ratios(self, cell: str) -> list[float]:
        if self.units[cell] == "x":
            return [after[cell] for _, after in self.runs]
        return [better(self.units[cell], after[cell], before[cell]) for before, after in self.runs]

    def rows(self) -> Iterator[Compared]:
        """A row a cell."""
        for cell, unit in self.units.items():
            bound = CHAIN_BOUND if unit == "x" else BOUND
            if not self.runs:
                note = self.failure or "the budget ended before"
                yield Compared(cell, unit, None, None, None, None, None, 0, bound, note)
                continue
            before, after = (statistics.median(run[side][cell] for run in self.runs) for side in (0, 1))
            of = Spread.of(self._ratios(cell))
            short = "" if of.count >= _FEWEST_PAIRS else f"the budget ended before pair {_FEWEST_PAIRS}"
            yield Compared(
                cell, unit, before, after, of.median, of.low, of.high, of.count, bound, self.failure or short
            )

    @property
    def is_open(self) -> bool:
        """Whether more pairs are wanted: a ratio is not known to be above its bound or below it."""
        if self.failure or len(self.runs) >= self.most_pairs:
            return False
        if len(self.runs) < _FEWEST_PAIRS:
            return True
        return any(not row.decided or (not row.passed and row.pairs < _SURE_PAIRS) for row in self.rows())


class OnGpu(Program):
    """Compression of one format on a GPU, by a process that stays."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        cells = {f"{name} {way} {shape}": "ms" for shape in programs.SHAPES for way in ("encode", "decode")}
        super().__init__(list, 0, cells, lambda answer, _: {f"{name} {cell}": answer[cell] * 1e3 for cell in answer})
        self.most_pairs = _MOST_RESIDENT_PAIRS
        slow = options.get("algorithm_type", 0) >= SLOW_ON_GPU
        self._request = {"program": "compress_gpu", "options": dict(options), "slow": slow}

    def _run(self, site: Path) -> Values:
        return self.values(_residents.answer(site, self._request), 0)


def _own(
    name: str, cells: Mapping[str, str], units: Mapping[str, str], request: Callable[[], dict[str, Any]]
) -> Program:
    """One of programs.py; `cells` are the names of its answer's entries, in seconds unless their unit is "x"."""

    @functools.cache
    def command() -> Sequence[str]:
        return [sys.executable, "-m", "benchmarks.programs", json.dumps({"program": name, **request()})]

    def values(answer: dict[str, Any], seconds: float) -> Values:
        answer = {**answer, "process": seconds}
        return {cell: answer[entry] * (1 if units[cell] == "x" else 1e3) for cell, entry in cells.items()}

    return Program(command, 0, units, values)


def _in_ms(cells: Mapping[str, str]) -> dict[str, str]:
    return dict.fromkeys(cells, "ms")


def _decoding(folder: Path | None, processor_time: bool = False) -> Iterator[Program]:
    """Every task of ours that make bench measures, on every clip, on one and two cores.

    With `processor_time` the figures are milliseconds of processor time a frame, in place of those of a clock.
    """
    cores = [count for count in (1, 2) if count <= len(os.sched_getaffinity(0))]
    for cell in plan.full(cores):
        if cell.contender not in ("tricodec", "tricodec-batch"):
            continue
        name = f"{cell.clip} {cell.task} {cell.contender} {cell.cores} core{'s' * (cell.cores > 1)}"

        def values(answer: dict[str, Any], _: float, cell: plan.Cell = cell, name: str = name) -> Values:
            run = to_run(cell, answer)
            return {name: run.cpu_ms if processor_time else run.value}

        @functools.cache
        def command(cell: plan.Cell = cell) -> Sequence[str]:
            return worker_command(request_of(cell, _clip(folder, cell.clip)))

        unit = "CPU ms" if processor_time else plan.TASKS[cell.task].unit
        yield Program(command, cell.cores, {name: unit}, values)


def _encoding(folder: Path) -> Iterator[Program]:
    """A few encoders, and one transcode."""

    def program(name: str, job: Callable[[], dict[str, Any]]) -> Program:
        @functools.cache
        def command() -> Sequence[str]:
            folder.mkdir(parents=True, exist_ok=True)
            return encoding.worker_command({**job(), "contender": "tricodec"})

        return Program(command, 0, {name: "ms"}, lambda answer, _: {name: answer["seconds"] * 1e3})

    for of in _ENCODES:
        name = f"encode {of[2]} {of[0]} {of[3]}"
        yield program(name, lambda of=of: encoding.encode_job(encoding.make_raw(folder, *of[:2]), of[0], *of[2:]))
    yield program(f"transcode libx264 {_TRANSCODE[0]} {_TRANSCODE[2]}", lambda: _transcode_job(folder))


def _transcode_job(folder: Path) -> dict[str, Any]:
    size, count, preset = _TRANSCODE
    return encoding.transcode_job(encoding.make_movie(folder, size, count), folder / "transcoded.mp4", preset)


def _clip(folder: Path | None, name: str) -> Path:
    return clips.clip_in(folder, name) if folder else clips.clip(name)


def cpu_programs(folder: Path | None, processor_time: bool = False) -> Iterator[Program]:
    """All that runs on a CPU; only decoding, if processor time is what counts."""
    if processor_time:
        yield from _decoding(folder, True)
        return
    cells = {"start and first frame": "process"}
    yield _own("start", cells, _in_ms(cells), lambda: {"path": str(_clip(folder, plan.CHIEF))})
    yield from _decoding(folder)
    for name, options in FORMATS.items():
        cells = {f"{name} encode": "encode", f"{name} decode": "decode"}
        request = {"family": name, "options": options, "slow": name not in FAST}
        yield _own("compress", cells, _in_ms(cells), functools.partial(dict, request))
    yield from _encoding(folder or clips.CACHE)


def gpu_programs(folder: Path) -> Iterator[Program]:
    """All that runs on a GPU."""
    for codec in CODECS:

        def request(name: str, frames: int, codec: str = codec) -> dict[str, Any]:
            path = make_clips(folder, ["gop30"])[codec][name]
            return {"path": str(path), "frames": frames, "device": "cuda"}

        cells = {f"{codec} one file of 3,000 frames": "one file"}
        cells |= {f"{codec} chain {chain}": chain for chain in programs.CHAINS}
        parts = {
            f"{codec} chain {chain}{programs.OF_ALONE}": f"{chain}{programs.OF_ALONE}" for chain in programs.CHAINS
        }
        units = _in_ms(cells) | dict.fromkeys(parts, "x")
        yield _own("one_file", cells | parts, units, functools.partial(request, "gop30_long", 3000))
        cells = {f"{codec} {programs.FILES} files of 300 frames": "files"}
        yield _own("many_files", cells, _in_ms(cells), functools.partial(request, "gop30", 300))
    yield from itertools.starmap(OnGpu, GPU_FORMATS.items())


def compare(
    chosen: Sequence[Program], before: Path, after: Path, seconds: float, done: Callable[[Program], None]
) -> None:
    """Four pairs of each program, one after another; then two of each open one in turn until the time ends."""
    end = time.monotonic() + seconds

    def take(program: Program, most: int) -> None:
        while program.is_open and len(program.runs) < most and time.monotonic() < end:
            program.take_pair(before, after)
        done(program)

    for program in chosen:
        take(program, _FEWEST_PAIRS)
    while time.monotonic() < end and (opened := [program for program in chosen if program.is_open]):
        for program in opened:
            take(program, len(program.runs) + 2)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, metavar="SITE", help="the folder with the build before")
    parser.add_argument("--after", type=Path, required=True, metavar="SITE", help="the folder with the build after")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--gpu", action="store_true", help="the programs of a GPU instead")
    which.add_argument("--processor-time", action="store_true", help="decoding, by processor time in place of a clock")
    parser.add_argument(
        "--budget", type=float, default=float("inf"), metavar="MINUTES", help="no run starts after this"
    )
    parser.add_argument("--clips", type=Path, metavar="FOLDER", help="where the clips are, or are made by ffmpeg")
    parser.add_argument("--only", nargs="+", metavar="PATTERN", help="cells like these, such as 'h264_1080p rgb*'")
    parser.add_argument("--list", action="store_true", help="name the cells and end")
    parser.add_argument(
        "--output",
        type=Path,
        help="default results/house.csv, of a GPU house_gpu.csv, of processor time house_processor.csv; "
        "with --only nothing is written without it",
    )
    return parser


def main() -> int:
    options = _arguments().parse_args()
    folder = options.clips and options.clips.resolve()
    if not options.gpu:
        os.environ["TRICODEC_DEVICE"] = "cpu"  # of a machine that has a GPU, too
    if options.gpu:
        found = list(gpu_programs(folder or ROOT / "build" / "bench-media"))
    else:
        found = list(cpu_programs(folder, options.processor_time))
    chosen = [
        program
        for program in found
        if not options.only or any(fnmatch.fnmatch(cell, pattern) for cell in program.units for pattern in options.only)
    ]
    if options.list:
        print("\n".join(cell for program in chosen for cell in program.units))
        return 0
    print(f"{len(chosen)} of {len(found)} programs", flush=True)
    sites = {"before": options.before.resolve(), "after": options.after.resolve()}
    try:
        facts: dict[str, object] = {name: check_site(site) for name, site in sites.items()}
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 2
    facts |= {"date": now(), "cores": len(os.sched_getaffinity(0))}
    name = f"house{'_gpu' * options.gpu}{'_processor' * options.processor_time}.csv"
    output = options.output or (None if options.only else results.FOLDER / name)

    def done(program: Program) -> None:
        for row in program.rows():
            print(row.describe(), flush=True)
        if output:
            results.write(output, facts, [row for each in chosen for row in each.rows()])

    compare(chosen, sites["before"], sites["after"], options.budget * 60, done)
    _residents.close()
    failed = [row for program in chosen for row in program.rows() if not row.passed]
    print(f"{len(failed)} cells are slower or were not measured", *(row.describe() for row in failed), sep="\n")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
