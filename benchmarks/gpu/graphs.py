# SPDX-License-Identifier: Apache-2.0
"""What a CUDA graph would gain a program that transforms batches of fixed geometry on a GPU.

python -m benchmarks.gpu.graphs --output FILE [--pairs N]    needs PyTorch; under a minute

Batches of 8, 32 and 128 NV12 pictures become 224x224 float16 CHW, normalized. The program is a loop over
``transform(frames, out=out, stream=stream)``. Its time is compared in pairs with the same launches captured once by
``torch.cuda.graph`` and replayed. The capture mode is "relaxed", since the library asks whether earlier work is done.
Where capture fails, the row has the error. The rows "gpu alone" are the GPU's own time for the calls, taken by events
while the calls wait behind other work: no way to launch can be faster.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.environment import environment
from benchmarks.results import Row

BATCHES = (8, 32, 128)
SIDES = (64, 224)
#: A graph is worth its parts if a program gains this much.
WORTH = 1.05
_CALLS = 50
_PAIRS = 15
_SLEEP_CYCLES = 100_000_000  # about 50 ms, longer than the host needs to queue _CALLS calls

_kept: list[Any] = []
"""What a graph uses. Memory with an event that was recorded in a capture must not be used again: nothing may ask for
that event."""


@dataclasses.dataclass(frozen=True)
class Timed:
    """Microseconds a call of one cell, run by run: run i of `calls` stands beside run i of the others."""

    calls: Sequence[float]
    gpu_alone: Sequence[float]
    graph: Sequence[float] = ()
    failure: str = ""


def rows_of(side: int, num_pictures: int, timed: Timed) -> list[Row]:
    """The rows of one cell."""
    cell = Row("transform", f"{side}x{side}", "calls", f"{num_pictures} pictures", unit="us")
    rows = [cell.with_runs(timed.calls)]
    for name, times in (("graph", timed.graph), ("gpu alone", timed.gpu_alone)):
        of = dataclasses.replace(cell, contender=name)
        if not times:
            rows.append(dataclasses.replace(of, note=f"not captured: {timed.failure}"))
            continue
        rows.append(of.with_runs(times))
        ratios = [calls / other for calls, other in zip(timed.calls, times, strict=True)]
        rows.append(dataclasses.replace(of, against="calls").with_ratios(ratios))
    return rows


def summary(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """The sentence of docs/explanation/performance.md."""
    gains = {row.input + ", " + row.setting: row.spread for row in rows if row.against and row.contender == "graph"}
    what = "a replayed graph"
    if not gains:
        what = "a launch that costs nothing (no graph could be captured)"
        gains = {row.input + ", " + row.setting: row.spread for row in rows if row.against}
    most = max(gains, key=lambda cell: gains[cell].median)
    least = min(gains, key=lambda cell: gains[cell].median)
    return (
        f"On an {facts.get('gpu', 'unknown GPU')} ({facts['date'][:10]}), {what} makes a loop of `Transform` calls "
        f"{gains[least].median:.2f} times ({least}) to {gains[most].median:.2f} times ({most}) as fast.\n"
    )


def _pictures(torch: Any, count: int, side: int) -> list[Any]:
    import tricodec

    def random(*shape: int) -> Any:
        return torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")

    frames = [
        tricodec.Frame.from_planes([random(side, side), random(side // 2, side // 2, 2)], "nv12") for _ in range(count)
    ]
    torch.cuda.synchronize()
    return frames


def _wall_us(work: Callable[[], object], stream: Any) -> float:
    """Microseconds a call of _CALLS calls, until the GPU has done them."""
    stream.synchronize()
    before = time.perf_counter()
    for _ in range(_CALLS):
        work()
    stream.synchronize()
    return (time.perf_counter() - before) / _CALLS * 1e6


def _gpu_us(torch: Any, work: Callable[[], object], stream: Any) -> float:
    """Microseconds a call on the GPU, where _CALLS calls are queued before the first one starts."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        torch.cuda._sleep(_SLEEP_CYCLES)
        first.record()
        for _ in range(_CALLS):
            work()
        last.record()
    last.synchronize()
    return float(first.elapsed_time(last)) / _CALLS * 1e3


def _capture(torch: Any, transform: Any, frames: list[Any], wanted: Any) -> Any:
    """The graph of one call. Its stream is used for nothing else.

    Raises:
        RuntimeError: where the call cannot be captured, or the graph gives another result.
    """
    graph, stream, out = torch.cuda.CUDAGraph(), torch.cuda.Stream(), torch.zeros_like(wanted)
    _kept.append((graph, transform, frames, out))
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="relaxed"):
        transform(frames, out, stream=torch.cuda.current_stream())
    graph.replay()
    torch.cuda.synchronize()
    if not torch.equal(out, wanted):
        message = "the graph does not write what the call writes"
        raise RuntimeError(message)
    return graph


def measure(side: int, num_pictures: int, num_pairs: int) -> Timed:
    """One cell."""
    import torch
    import tricodec

    transform = tricodec.Transform(
        size=(224, 224), dtype="float16", layout="CHW", mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)
    )
    frames = _pictures(torch, num_pictures, side)
    stream = torch.cuda.Stream()
    out = torch.zeros((num_pictures, 3, 224, 224), dtype=torch.float16, device="cuda")
    torch.cuda.synchronize()

    def call() -> None:
        transform(frames, out, stream=stream)

    for _ in range(3):
        call()
    stream.synchronize()
    graph, failure = None, ""
    try:
        graph = _capture(torch, transform, frames, out)
    except Exception as error:  # whatever the driver, PyTorch or the library makes of it is the result
        failure = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    calls: list[float] = []
    replays: list[float] = []
    alone: list[float] = []

    def replay() -> None:
        with torch.cuda.stream(stream):
            graph.replay()

    for number in range(num_pairs):
        runs = [(call, calls)] if graph is None else [(call, calls), (replay, replays)]
        for work, times in runs if number % 2 == 0 else runs[::-1]:
            times.append(_wall_us(work, stream))
        alone.append(_gpu_us(torch, call, stream))
    return Timed(calls, alone, replays, failure)


def main() -> None:
    """Measures all cells and writes them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="the CSV file to write")
    parser.add_argument("--pairs", type=int, default=_PAIRS, help="pairs of runs of each cell")
    arguments = parser.parse_args()
    started = time.monotonic()
    rows = []
    for side, num_pictures in itertools.product(SIDES, BATCHES):
        rows += rows_of(side, num_pictures, measure(side, num_pictures, arguments.pairs))
    facts = {**environment(time.monotonic() - started), "calls_of_a_run": _CALLS}
    results.write(arguments.output, facts, rows)
    for row in rows:
        figure = row.note if row.value is None else f"{row.value:.2f} {row.unit}"
        print(f"{row.input} {row.setting:12} {row.contender:10} {'/ calls' if row.against else '':8} {figure}")


if __name__ == "__main__":
    main()
