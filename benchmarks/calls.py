# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beside the same call from C++, and what a call that does nothing costs.

python -m benchmarks.calls PROGRAM [--clip FILE] [--pairs N] [--output FILE]

PROGRAM is build/.../benchmarks/cpp/tricodec_call_cost. Both read 32 frames of 1080p as a batch, in processes that run
in turns. The figures are processor time, so that other programs on the machine matter less. The exit status is 1 if a
figure is above its bound.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import results
from benchmarks.environment import environment
from benchmarks.goals import Goal

FRAMES = 32
CALLS = 5
BATCH_BOUND = 1.05
IDLE_BOUND_US = 20.0


def of_python(path: Path, calls: int) -> list[float]:
    """Milliseconds of each call of ``FrameReader.batch``, as the C++ program measures them."""
    import tricodec

    times = []
    transform = tricodec.Transform(size=(224, 224))
    with tricodec.FrameReader(path, device="cpu", num_workers=1) as reader:
        for _ in range(calls + 1):
            before = time.process_time()
            reader.batch(range(FRAMES), transform=transform)
            times.append((time.process_time() - before) * 1e3)
    return times[1:]


def idle_calls(path: Path) -> dict[str, float]:
    """Microseconds of calls that have nothing to do: the least of several loops."""
    import tricodec

    reader = tricodec.FrameReader(path, device="cpu", num_workers=1)
    codec = tricodec.Codec(algorithm="LZ4", device="cpu")
    calls: dict[str, Callable[[], object]] = {
        "FrameReader.batch of no frames": lambda: reader.batch([]),
        "len of a FrameReader": lambda: len(reader),
        "Codec.encode of no arrays": lambda: codec.encode([]),
    }
    return {name: min(timeit.repeat(call, number=1000, repeat=7)) * 1e3 for name, call in calls.items()}


def _printed(command: list[str]) -> float:
    """The median of the numbers that a process prints."""
    output = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    return statistics.median(map(float, output.split()))


def compare(program: Path, path: Path, num_pairs: int) -> tuple[list[float], list[float]]:
    """Milliseconds of a batch from Python and from C++, run by run; every second pair in reverse order."""
    python, cpp = [], []
    commands = {
        "python": [sys.executable, "-m", "benchmarks.calls", "--worker", str(path)],
        "cpp": [str(program), str(path), str(CALLS)],
    }
    for number in range(num_pairs):
        order = list(commands) if number % 2 == 0 else list(commands)[::-1]
        times = {name: _printed(commands[name]) for name in order}
        python.append(times["python"])
        cpp.append(times["cpp"])
    return python, cpp


def rows(python: list[float], cpp: list[float], idle: dict[str, float], clip: str) -> Iterator[results.Row]:
    """The results: both times, how many times as long Python takes, and the calls that do nothing."""
    batch = results.Row("batch", clip, "Python", setting=f"{FRAMES} frames", cores=1, threads=1, unit="ms")
    yield batch.with_runs(python)
    yield dataclasses.replace(batch, contender="C++").with_runs(cpp)
    ratio = dataclasses.replace(batch, against="C++", note="processor time of Python divided by that of C++")
    yield ratio.with_ratios(ours / theirs for ours, theirs in zip(python, cpp, strict=True))
    for name, microseconds in idle.items():
        yield results.Row("idle call", clip, "Python", setting=name, value=microseconds, unit="us", runs=7)


def goals(measured: list[results.Row]) -> Iterator[Goal]:
    """What the figures must be."""
    for row in measured:
        value = row.spread.median
        if row.against:
            yield Goal("a batch from Python beside C++", value, "x", BATCH_BOUND, at_least=False, pairs=row.spread)
        elif row.task == "idle call":
            yield Goal(row.setting, value, "us", IDLE_BOUND_US, at_least=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, nargs="?", metavar="PROGRAM", help="tricodec_call_cost")
    parser.add_argument("--clip", type=Path, help="default the chief clip of make bench")
    parser.add_argument("--pairs", type=int, default=12, help="of processes (default 12)")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "calls.csv")
    parser.add_argument("--worker", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(*of_python(options.worker, CALLS), sep="\n")
        return 0
    if options.program is None:
        parser.error("name PROGRAM, build/dev/benchmarks/cpp/tricodec_call_cost after make test")
    if options.clip is None:
        from benchmarks.decode import clips, plan

        options.clip = clips.clip(plan.CHIEF)
    started = time.monotonic()
    python, cpp = compare(options.program, options.clip, options.pairs)
    measured = list(rows(python, cpp, idle_calls(options.clip), options.clip.stem.split("-")[0]))
    results.write(options.output, environment(time.monotonic() - started), measured)
    judged = list(goals(measured))
    print(*(goal.describe() for goal in judged), sep="\n")
    return 0 if all(goal.passed for goal in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
