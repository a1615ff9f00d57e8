# SPDX-License-Identifier: Apache-2.0
"""Runs cells right after each other, each figure in a process of its own on as many cores as it may have."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.decode import clips, peer_libraries
from benchmarks.decode.goals import better
from benchmarks.decode.plan import TASKS, Cell
from benchmarks.decode.rounds import compared, first_order
from benchmarks.environment import ROOT

_TIMEOUT = 300


@dataclasses.dataclass(frozen=True)
class Run:
    """One figure.

    Attributes:
        value: in the task's unit.
        cpu_ms: of CPU time a frame, in all threads and child processes.
        peak_rss_mb: resident memory of the process at its largest, plus that of its largest child.
    """

    value: float
    cpu_ms: float
    peak_rss_mb: float


class Failed(Exception):
    """A contender could not do its work; the text is its own."""


def cores_for(count: int) -> list[int]:
    """The last ones that this process may use: the first has most of the machine's own work."""
    return sorted(os.sched_getaffinity(0))[-count:]


def answer_of(command: Sequence[str], cores: Sequence[int], environment: Mapping[str, str]) -> dict[str, Any]:
    """What a process on some cores prints as its last line.

    Raises:
        Failed: if that is no JSON object, or says that it failed.
    """
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509 - this process has one thread
    )
    try:
        output, errors = process.communicate(timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        message = f"took more than {_TIMEOUT} s"
        raise Failed(message) from None
    lines = output.splitlines()
    if not lines or not lines[-1].startswith("{"):
        message = f"ended with {process.returncode}: {errors.strip()[-200:]}"
        raise Failed(message)
    answer: dict[str, Any] = json.loads(lines[-1])
    if "failed" in answer:
        raise Failed(answer["failed"])
    return answer


def worker_command(request: Mapping[str, Any]) -> list[str]:
    """The process that answers a request."""
    return [sys.executable, "-m", "benchmarks.decode.worker", json.dumps(request)]


def ask(request: dict[str, Any], cores: Sequence[int]) -> dict[str, Any]:
    """A worker's answer."""
    return answer_of(worker_command(request), cores, peer_libraries.environment(request["contender"]))


def request_of(cell: Cell, path: Path | None = None) -> dict[str, Any]:
    """What the worker is told; `path` is of the clip, which is made if it is not named."""
    recipe = clips.RECIPES[cell.clip]
    return {
        "contender": cell.contender,
        "task": cell.task,
        "path": str(path or clips.clip(cell.clip)),
        "width": recipe.size[0],
        "height": recipe.size[1],
        "num_frames": recipe.num_frames,
        "cores": cell.cores,
        "threads": cell.threads,
        "indices": cell.indices,
    }


def expected_frames(cell: Cell) -> int | None:
    """That a figure must be of; None where a clock decides."""
    if cell.task.startswith("transform_"):
        return None
    num_frames = clips.RECIPES[cell.clip].num_frames
    return {"first": 1, "readers": num_frames * cell.threads}.get(cell.task, len(cell.indices) or num_frames)


def to_run(cell: Cell, answer: dict[str, Any]) -> Run:
    """A worker's answer as a figure.

    Raises:
        Failed: if the contender did another amount of work than was asked for.
    """
    frames, expected = answer["frames"], expected_frames(cell)
    if expected is not None and frames != expected:
        message = f"gave {frames} frames where {expected} were asked for"
        raise Failed(message)
    seconds = answer["seconds"]
    if TASKS[cell.task].unit == "frames/s":
        value = frames / seconds
    else:  # a time: of the whole request, or of one frame on one core where a clock decided how many
        value = seconds * 1000 if expected is not None else seconds * 1000 / frames
    return Run(
        value=value,
        cpu_ms=answer["cpu_seconds"] * 1000 / frames,
        peak_rss_mb=answer["peak_rss_mb"],
    )


def measure(cell: Cell) -> Run:
    """One run.

    Raises:
        Failed: if the contender cannot.
    """
    return to_run(cell, ask(request_of(cell), cores_for(cell.cores)))


@dataclasses.dataclass(frozen=True)
class Measured:
    """All figures so far.

    Attributes:
        runs: of each cell, in the order in which they were taken.
        failures: why a cell has none, or no more.
        pairs: of ours and a peer that ran right before or after it, how many times better ours was each time.
    """

    runs: dict[Cell, list[Run]]
    failures: dict[Cell, str]
    pairs: dict[tuple[Cell, Cell], list[float]]


class _Session:
    """Measures cell after cell, and pairs what ran side by side."""

    def __init__(self, cells: Iterable[Cell], report: Callable[[str], None]) -> None:
        self.found = Measured({cell: [] for cell in cells}, {}, {})
        self._report = report
        self._start = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def num_runs(self) -> int:
        return sum(map(len, self.found.runs.values()))

    def take_pairs(self, order: Sequence[Cell]) -> None:
        """One run of each in turn, of those that are still measured, if that gives a pair."""
        here = [cell for cell in order if self._is_measured(cell)]
        if any(compared(one, other) for one, other in itertools.pairwise(here)):
            self.take(here)

    def take(self, order: Sequence[Cell]) -> None:
        """One run of each in turn."""
        last: Cell | None = None
        for cell in order:
            done = self._one(cell)
            both = compared(last, cell) if last and done else None
            if both:
                ours, peer = (self.found.runs[each][-1].value for each in both)
                ratio = better(TASKS[cell.task].unit, ours, peer)
                self.found.pairs.setdefault(both, []).append(ratio)
            last = cell if done else None

    def _is_measured(self, cell: Cell) -> bool:
        return cell not in self.found.failures

    def _one(self, cell: Cell) -> bool:
        where = f"{cell.task} {cell.clip} {cell.contender} {cell.cores} core(s), {cell.threads} thread(s)"
        try:
            run = measure(cell)
        except Failed as failure:
            self.found.failures[cell] = str(failure)
            self._report(f"{where}: FAILED: {failure}")
            return False
        self.found.runs[cell].append(run)
        self._report(
            f"{self.seconds():5.0f} s  {where}: {run.value:.2f} {TASKS[cell.task].unit}, {run.cpu_ms:.2f} ms CPU, "
            f"{run.peak_rss_mb:.0f} MB"
        )
        return True


def measure_all(
    cells: Iterable[Cell],
    *,
    next_turns: Callable[[Measured, int], Sequence[Sequence[Cell]]],
    budget_seconds: float,
    report: Callable[[str], None],
) -> Measured:
    """All cells in a first round, which is always finished, then turns of neighboring runs until the budget ends.

    Args:
        cells: what to measure, each at most as often as it says.
        next_turns: asked, with the number of the round, which runs side by side are worth most now; ends when none is.
        budget_seconds: after which no further turn is begun.
        report: takes a line of text for each figure.
    """
    session = _Session(cells, report)
    groups: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in session.found.runs:
        groups.setdefault((cell.clip, cell.task, cell.cores), []).append(cell)
    for group in groups.values():
        session.take(first_order(group))
    number = 0
    while session.seconds() < budget_seconds:
        number += 1
        runs_before = session.num_runs()
        for turn in next_turns(session.found, number):
            if session.seconds() < budget_seconds:
                session.take_pairs(turn)
        if session.num_runs() == runs_before:
            break
    return session.found
