# SPDX-License-Identifier: Apache-2.0
"""Requests to `tricodec serve` on this machine, beside decoding in the process of the caller.

    python -m benchmarks.serve.run --perf-analyzer PATH    writes benchmarks/results/serve.csv; 15 minutes
    python -m benchmarks.serve.run --gpu --output FILE     the same with a GPU, frames in host memory
    python -m benchmarks.serve.run --smoke                 a tiny clip: only proves that everything starts

perf_analyzer comes with `pip install tritonclient==2.51.0`, and needs libb64-0d and libcudart.so.12. Without
--perf-analyzer only our own clock measures. As many requests are in flight as there are cores. Contenders run in turns,
each round the other way round (`pairs.turn`). A ratio is the median of the ratios of neighboring runs, because other
programs use the machine too.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tricodec import bench

from benchmarks import pairs, results
from benchmarks.decode import clips
from benchmarks.environment import environment
from benchmarks.results import Row
from benchmarks.serve import contenders as ways
from benchmarks.serve import names
from benchmarks.serve.goals import goals_of
from benchmarks.serve.relay import Relay

MODELS = ("video_decode",)
_SECONDS = 5.0
"""Of a run. Its first requests take longer: workers map the memory of clients, and lock the pages for a GPU."""
SMOKE = (ways.Request("4 tensors of 32x32", {"count": 4, "size": (32, 32)}),)

Cell = tuple[str, str]
"""A contender, and the tool that measures it."""


class Cells:
    """What was measured of one request.

    Attributes:
        speeds: frames/s of each run.
        latencies: of all requests, in milliseconds.
        percentiles: of each run of perf_analyzer.
    """

    def __init__(self, request: ways.Request) -> None:
        self._request = request
        self.speeds: dict[Cell, list[float]] = collections.defaultdict(list)
        self.latencies: dict[Cell, list[float]] = collections.defaultdict(list)
        self.percentiles: dict[Cell, dict[str, list[float]]] = collections.defaultdict(dict)
        self.ratios: dict[tuple[Cell, Cell], list[float]] = collections.defaultdict(list)
        self.wire: dict[str, int] = {}

    def pair(self, cell: Cell, speed: float, other: Cell, other_speed: float) -> None:
        """Two neighboring runs."""
        if speed and other_speed:
            self.ratios[cell, other].append(speed / other_speed)

    def rows(self) -> list[Row]:
        """All of it."""
        found = []

        def row(task: str, cell: Cell, unit: str) -> Row:
            return Row(task, self._request.name, cell[0], cell[1], ways.CORES, unit=unit)

        for cell, speeds in self.speeds.items():
            found.append(row("speed", cell, "frames/s").with_runs(speeds))
            for name, percent in (("p50", 50.0), ("p99", 99.0)):
                if cell in self.percentiles:
                    found.append(row(name, cell, "ms").with_runs(self.percentiles[cell][name]))
                elif (value := bench.percentile_of(sorted(self.latencies[cell]), percent)) is not None:
                    found.append(row(name, cell, "ms").with_runs([value]))
        for (cell, other), ratios in self.ratios.items():
            found.append(
                Row("speed", self._request.name, cell[0], cell[1], ways.CORES, against=other[0]).with_ratios(ratios)
            )
        for name, num_bytes in self.wire.items():
            found.append(Row("wire", self._request.name, name, cores=ways.CORES, unit="bytes").with_runs([num_bytes]))
        return found


def compared(request: ways.Request, perf_analyzer: str | None) -> tuple[Cell, list[Cell]]:
    """What stands beside what: one cell, and those that are compared with it."""
    cells = [(way, names.BENCH) for way in request.others]
    if perf_analyzer and names.GRPC in request.others:
        cells += [(way, names.PERF_ANALYZER) for way in (names.SHARED_MEMORY, names.GRPC)]
    return (names.IN_PROCESS, names.BENCH), cells


class Bench:
    """Measures cells against one server."""

    def __init__(self, url: str, clip: Path, folder: Path, perf_analyzer: str | None, seconds: float) -> None:
        self._url, self._clip, self._folder = url, clip, folder
        self._perf_analyzer = perf_analyzer
        self._seconds = seconds

    def run(self, cell: Cell, request: ways.Request, cells: Cells) -> float:
        """One run of a cell: frames/s."""
        name, tool = cell
        if tool == names.PERF_ANALYZER:
            assert self._perf_analyzer is not None
            command = ways.perf_command(name, request, self._clip, self._url, self._folder)
            run, percentiles = ways.measure_perf(self._perf_analyzer, command, request, self._seconds)
            for percentile, value in percentiles.items():
                cells.percentiles[cell].setdefault(percentile, []).append(value)
        else:
            run = ways.measure(name, request, self._clip, self._url, self._seconds)
            cells.latencies[cell] += run.latencies
        cells.speeds[cell].append(run.frames_per_second)
        return run.frames_per_second

    def round(self, request: ways.Request, cells: Cells, number: int) -> None:
        """Each cell beside the one that it is compared with."""
        base, others = compared(request, self._perf_analyzer)
        order = pairs.turn([base], others, number)
        speeds = [(cell, self.run(cell, request, cells)) for cell in order]
        for (first, speed), (second, other) in itertools.pairwise(speeds):
            if first == base and second != base:
                cells.pair(second, other, first, speed)
            elif second == base and first != base:
                cells.pair(first, speed, second, other)

    def weigh(self, request: ways.Request, cells: Cells) -> None:
        """Bytes on the wire of one request, on a connection that is open already."""
        base, others = compared(request, None)
        for name, _ in (base, *others):
            with Relay(self._url) as relay, ways.open_work(name, request, self._clip, relay.url) as work:
                work()
                before = relay.num_bytes
                work()
                cells.wire[name] = relay.num_bytes - before


def measure(options: argparse.Namespace, requests: Sequence[ways.Request], clip: Path) -> list[Row]:
    """All rows of all requests."""
    from tricodec.serve import Server
    from tricodec.serve.repository import installed_repository, write_repository

    found = [Cells(request) for request in requests]
    with tempfile.TemporaryDirectory() as name:
        repository = Path(name) / "models"
        parameters = {"video_decode": {"workers": str(options.workers), "isolation": options.isolation}}
        write_repository(installed_repository(), MODELS, repository, None, parameters, [0] if options.gpu else [])
        ways.add_required_model(repository)
        ways.add_empty_model(repository)
        with Server(repository, None) as server:
            runner = Bench(server.grpc_url, clip, Path(name), options.perf_analyzer, options.seconds)
            _measure(runner, options.rounds, requests, found)
    return [row for cells in found for row in cells.rows()]


def _measure(runner: Bench, rounds: int, requests: Sequence[ways.Request], found: Sequence[Cells]) -> None:
    for request, cells in zip(requests, found, strict=True):
        runner.weigh(request, cells)
    for number in range(rounds):
        for request, cells in zip(requests, found, strict=True):
            runner.round(request, cells, number)
            print(f"round {number + 1} of {rounds}: {request.name}", flush=True)


def main() -> int:
    """Runs all requests; writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="a tiny clip; writes only with --output")
    parser.add_argument("--perf-analyzer", metavar="PATH", help="the executable; default: without it")
    parser.add_argument("--rounds", type=int, default=6, help="of all requests (default 6)")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="of a run (default 5)")
    parser.add_argument("--workers", type=int, default=0, help="of the server (default: those of the model)")
    parser.add_argument("--isolation", choices=("process", "none"), default="process", help="of the server's workers")
    parser.add_argument("--gpu", action="store_true", help="decode on the first GPU, here and in the server")
    parser.add_argument("--output", type=Path, help="default benchmarks/results/serve.csv, with --gpu serve_gpu.csv")
    options = parser.parse_args()
    start = time.perf_counter()
    name = "tiny" if options.smoke else "h264_720p"
    device = "cuda" if options.gpu else "cpu"
    requests = [dataclasses.replace(each, device=device) for each in (SMOKE if options.smoke else ways.REQUESTS)]
    rows = measure(options, requests, clips.clip(name))
    for row in rows:
        against = f" of {row.against}" if row.against else ""
        print(f"{row.task:6} {row.input}, {row.contender} ({row.setting}){against}: {row.value:.4g} {row.unit}")
    for goal in goals_of(rows):
        print(goal.describe())
    output = options.output or (None if options.smoke else results.FOLDER / f"serve{'_gpu' * options.gpu}.csv")
    if output is not None:
        facts = {
            "rounds": options.rounds,
            "seconds_a_run": options.seconds,
            "requests_at_a_time": ways.CORES,
            "workers": options.workers or "default",
            "isolation": options.isolation,
            "device": device,
            "load_average": f"{os.getloadavg()[1]:.1f}",
            "clip": clips.facts(name),
        }
        results.write(output, {**environment(time.perf_counter() - start), **facts}, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
