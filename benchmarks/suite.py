# SPDX-License-Identifier: Apache-2.0
"""What a suite is, and how its cases are measured: each in a process of its own, by tricodec.measure.bench."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, cast

from benchmarks.results import ROOT, Case, Row

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SUITES = ("decode", "programs", "encode", "compress", "node", "node_use", "gpu")
_LIMIT_SECONDS = 600


@dataclasses.dataclass(frozen=True)
class Options:
    """What the command line asks of a suite."""

    device: str = "cpu"
    quick: bool = False


class Suite(Protocol):
    """The module of a suite."""

    SECONDS: float
    """Least duration of a run, which has three queries or more after one that does not count."""

    def cases(self, options: Options) -> list[Case]:
        """The cases in order; contenders at the same task follow one another."""

    def facts(self, cases: Sequence[Case]) -> dict[str, str]:
        """Makes the inputs of the cases, and says what they are."""

    def open_work(self, case: Case) -> AbstractContextManager[Work]:
        """The context of a stream of queries, in the process that measures the case."""


def load(name: str) -> Suite:
    """The suite of this name."""
    return cast("Suite", importlib.import_module(f"benchmarks.{name}"))


def measure(name: str, cases: Sequence[Case], rounds: int, say: Callable[[str], None] = print) -> list[Row]:
    """The row of each case, and rows for its other figures.

    Every round runs each case once, every second one in reverse order. Contenders at a task run one after another, so
    that all of them have the same part of it when the speed of the machine changes.
    """
    values: dict[Case, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    ratios: dict[Case, float | None] = {}
    notes: dict[Case, str] = {}
    for number in range(rounds):
        for case in cases[:: 1 if number % 2 == 0 else -1]:
            if case in notes:
                continue
            answer = _run(name, case)
            if "failed" in answer:
                notes[case] = answer["failed"]
            else:
                for unit, value in answer["values"].items():
                    values[case][unit].append(value)
                ratios[case] = answer["ratio"]
            found = notes.get(case) or ", ".join(f"{each[-1]:.4g} {unit}" for unit, each in values[case].items())
            say(f"{case.task} {case.input} {case.setting} {case.contender}, cores {case.cores or 'all'}: {found}")
    return [
        Row.of(dataclasses.replace(case, unit=unit), found, ratios.get(case), notes.get(case, ""))
        for case in cases
        for unit, found in (values[case] or {case.unit: []}).items()
    ]


def _run(name: str, case: Case) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.suite", name, json.dumps(dataclasses.asdict(case))]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {_LIMIT_SECONDS} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]  # peers print things of their own
    words = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return dict(json.loads(lines[-1])) if lines else {"failed": words[-1][:300]}


def main() -> None:
    """Measures one case in this process, and prints its figure or the reason why there is none."""
    name, text = sys.argv[1:]
    case = Case(**json.loads(text))
    if case.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-case.cores :])
    from tricodec.measure import bench

    suite = load(name)
    rules = bench.Rules(warm_up=1e-3, duration=suite.SECONDS, iterations=3, max_trials=3)
    try:
        windows = bench.run(lambda: suite.open_work(case), bench.Load(case.streams), rules)
        figures = bench.Figures.of(windows)
        value = {"GB/s": figures.megabytes_per_second / 1e3, "ms": figures.latency.median * 1e3}.get(
            case.unit, figures.frames_per_second
        )
        others = {unit: part.median for unit, part in figures.parts.items()}
        answer: dict[str, object] = {"values": {case.unit: value, **others}, "ratio": figures.ratio}
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    print(json.dumps(answer), flush=True)  # before the end, at which some peers crash


if __name__ == "__main__":
    main()
