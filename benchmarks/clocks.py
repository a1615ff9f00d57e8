# SPDX-License-Identifier: Apache-2.0
"""The figures of `tricodec bench` beside those of other clocks for the same work.

    python -m benchmarks.clocks --perf-analyzer PATH    writes benchmarks/results/clocks.csv; 4 minutes

`tricodec bench decode` stands beside a plain loop in Python, `tricodec bench serve` beside NVIDIA's perf_analyzer
(`pip install tritonclient==2.51.0`, with libb64-0d and libcudart.so.12; without --perf-analyzer only decoding is
compared). The model of the server has the tensors of `video_decode`, and waits for 30 ms in place of decoding: two
runs of a decoder that needs all cores differ by more than two clocks do. Runs of less than two seconds take turns,
every second pair in reverse order, and a figure is the median of the ratios of the pairs. The exit status is 1 if one
is more than 3 % from 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tricodec import bench

from benchmarks import results
from benchmarks.decode import clips
from benchmarks.environment import environment
from benchmarks.pairs import Spread
from benchmarks.results import Row
from benchmarks.serve import contenders as ways
from benchmarks.serve import names

#: How far from 1 the ratio of two clocks may be.
BOUND = 0.03
LOOP = "plain loop"
_CLIP = "tiny"
_FRAMES, _SIDE = 8, 112  # of an answer
_IN_FLIGHT = 3
_DECODE_SECONDS, _SERVE_SECONDS = 0.4, 1.5
_WALL, _PROCESSOR = "wall clock", "processor time"

_MODEL = f"""
import time
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.03)
        arrays = {{
            "FRAMES": np.zeros((1, {_FRAMES}, {_SIDE}, {_SIDE}, 3), np.uint8),
            "PTS": np.arange({_FRAMES})[None] / 25,
            "NUM_DAMAGED_PACKETS": np.zeros((1, 1), np.int64),
        }}
        tensors = [pb_utils.Tensor(*item) for item in arrays.items()]
        return [pb_utils.InferenceResponse(tensors) for _ in requests]
"""

Figures = Mapping[str, float]
"""By name: what a clock says of one run. Larger is faster, except for latencies."""


def pairs_of(
    ours: Callable[[], Figures], other: Callable[[], Figures], num_pairs: int
) -> Iterator[tuple[Figures, Figures]]:
    """What the two clocks say in runs after one another, every second pair in reverse order."""
    for number in range(num_pairs):
        if number % 2:
            theirs = other()
            yield ours(), theirs
        else:
            yield ours(), other()


def rows_of(cell: Row, other: str, units: Mapping[str, str], pairs: Sequence[tuple[Figures, Figures]]) -> list[Row]:
    """The rows of one comparison: for each figure both clocks, and the ratio of ours to the other one."""
    rows = []
    for name, unit in units.items():
        of = dataclasses.replace(cell, setting=name, unit=unit)
        rows.append(of.with_runs([ours[name] for ours, _ in pairs]))
        rows.append(dataclasses.replace(of, contender=other).with_runs([theirs[name] for _, theirs in pairs]))
        rows.append(dataclasses.replace(of, against=other).with_ratios([a[name] / b[name] for a, b in pairs]))
    return rows


def far_apart(rows: Sequence[Row]) -> list[Row]:
    """The ratios that are more than `BOUND` from 1."""
    return [row for row in rows if row.against and abs(row.spread.median - 1) > BOUND]


def decode_pairs(clip: Path, num_pairs: int) -> list[Row]:
    """Decoding by one thread. Of ours the figure is what the report says; by processor time, what the run took."""
    import tricodec

    engine = bench.DecodeEngine(clip, "cpu")
    rules = bench.Rules(warm_up=0, duration=_DECODE_SECONDS, iterations=3, max_trials=3)

    def measured() -> Figures:
        decoded = 0

        @contextmanager
        def opened() -> Iterator[bench.Work]:
            with engine.open(0, 1) as work:

                def counted() -> bench.Done:
                    nonlocal decoded
                    done = work()
                    decoded += done.frames
                    return done

                yield counted

        processor = time.process_time()
        windows = bench.run(opened, bench.Load(1), rules)
        processor = time.process_time() - processor
        return {_WALL: bench.Figures.of(windows).frames_per_second, _PROCESSOR: decoded / processor}

    def loop() -> Figures:
        number, wall, processor = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() < wall + _DECODE_SECONDS:
            with tricodec.FrameReader(clip, device="cpu", num_workers=1) as reader:
                number += sum(1 for _ in reader)
        return {_WALL: number / (time.perf_counter() - wall), _PROCESSOR: number / (time.process_time() - processor)}

    measured(), loop()
    pairs = list(pairs_of(measured, loop, num_pairs))
    units = dict.fromkeys(pairs[0][0], "frames/s")
    return rows_of(Row("decode", "60 frames of 320x180, one thread", names.BENCH, cores=ways.CORES), LOOP, units, pairs)


def _sleeping_repository(folder: Path) -> Path:
    from tricodec.serve.repository import installed_repository, write_repository

    write_repository(installed_repository(), ("video_decode",), folder, None, {})
    model = folder / "video_decode"
    (model / "1" / "model.py").write_text(_MODEL)
    config = model / "config.pbtxt"
    text = config.read_text().replace("KIND_CPU count: 1", f"KIND_CPU count: {_IN_FLIGHT + 1}")
    config.write_text(text.replace("dynamic_batching { max_queue_delay_microseconds: 0 }", ""))
    return folder


def serve_pairs(clip: Path, perf_analyzer: str, num_pairs: int) -> list[Row]:
    """Requests of a model that waits, through gRPC."""
    from tricodec.serve import Server, perf_data

    with tempfile.TemporaryDirectory() as name, Server(_sleeping_repository(Path(name) / "models"), None) as server:
        inputs = {"COUNT": str(_FRAMES), "SIZE": f"{_SIDE},{_SIDE}"}
        perf_data.write(Path(name) / "data.json", "video_decode", [str(clip)], inputs, server.grpc_url)
        request = ways.Request("", {"count": _FRAMES})
        command = [perf_analyzer, "-m", "video_decode", "-u", server.grpc_url, "-i", "grpc"]
        command += ["--input-data", str(Path(name) / "data.json"), "--concurrency-range", str(_IN_FLIGHT)]
        engine = bench.ServeEngine(clip, server.grpc_url, options={"size": (_SIDE, _SIDE)}, shared_memory=False)
        rules = bench.Rules(warm_up=0.3, duration=_SERVE_SECONDS, iterations=3, max_trials=3)

        def measured() -> Figures:
            windows = bench.run(lambda: engine.open(_FRAMES, 0), bench.Load(_IN_FLIGHT), rules)
            latencies = sorted(query.latency for window in windows.latest for query in window.queries)
            figures = bench.Figures.of(windows)
            median = bench.percentile_of(latencies, 50.0)
            assert median is not None
            return {"requests a second": figures.queries_per_second, "p50 latency": median * 1e3}

        def analyzed() -> Figures:
            run, percentiles = ways.measure_perf(perf_analyzer, command, request, _SERVE_SECONDS)
            return {"requests a second": run.frames_per_second / _FRAMES, "p50 latency": percentiles["p50"]}

        measured()
        pairs = list(pairs_of(measured, analyzed, num_pairs))
    units = {"requests a second": "requests/s", "p50 latency": "ms"}
    cell = Row("serve", f"a wait of 30 ms, {_IN_FLIGHT} requests in flight", names.BENCH, cores=ways.CORES)
    return rows_of(cell, names.PERF_ANALYZER, units, pairs)


def main() -> int:
    """Compares, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perf-analyzer", metavar="PATH", help="the executable; default: without it")
    parser.add_argument("--decode-pairs", type=int, default=80, help="of runs (default 80)")
    parser.add_argument("--serve-pairs", type=int, default=24, help="of runs (default 24)")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "clocks.csv")
    options = parser.parse_args()
    start = time.perf_counter()
    clip = clips.clip(_CLIP)
    rows = decode_pairs(clip, options.decode_pairs)
    if options.perf_analyzer:
        rows += serve_pairs(clip, options.perf_analyzer, options.serve_pairs)
    facts = {"clip": clips.facts(_CLIP), "bound": BOUND}
    results.write(options.output, {**environment(time.perf_counter() - start), **facts}, rows)
    for row in rows:
        spread: Spread = row.spread
        against = f"/ {row.against}" if row.against else ""
        print(f"{row.task} {row.contender} {against}, {row.setting}: {spread.median:.4g} ({spread.low:.4g} to {spread.high:.4g}) {row.unit}")  # fmt: skip  # noqa: E501
    for row in far_apart(rows):
        print(f"more than {BOUND:.0%} apart: {row.task}, {row.setting}", file=sys.stderr)
    return 1 if far_apart(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
