# SPDX-License-Identifier: Apache-2.0
"""Runs cells side by side, each figure in a process and on cores of its own, and watches what else the machine does."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import clips
import peer_libraries
from goals import better
from plan import TASKS, Cell
from rounds import compared, first_order

_WORKER = Path(__file__).resolve().with_name("worker.py")
_TICKS = os.sysconf("SC_CLK_TCK")
_MOST_NOISE = 0.06  # cores of foreign work and stolen time; what a quiet machine's own housekeeping stays below
_MOST_REPEATS = 2
_MOMENT = 0.15  # seconds
_LONGEST_WAIT = 20.0  # seconds for one figure
_TIMEOUT = 300


@dataclasses.dataclass(frozen=True)
class Run:
    """One figure.

    Attributes:
        value: in the task's unit.
        cpu_ms: of CPU time a frame, in all threads and child processes.
        peak_rss_mb: resident memory of the process at its largest, plus that of its largest child.
        faults: page faults a frame.
        noise: cores that others, or the host of a virtual machine, took meanwhile.
        check: the sum of the samples of the last item; contenders that did the same work agree or nearly so.
    """

    value: float
    cpu_ms: float
    peak_rss_mb: float
    faults: float
    noise: float
    check: float | None


class Failed(Exception):
    """A contender could not do its work; the text is its own."""


def _stat() -> dict[int, tuple[float, float]]:
    """Seconds that each core was busy and that were stolen from it since the start of the machine."""
    result = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name != "cpu":
            user, nice, system, _, _, irq, softirq, steal = (int(field) / _TICKS for field in fields[:8])
            result[int(name[3:])] = (user + nice + system + irq + softirq, steal)
    return result


def cores_for(count: int) -> list[int]:
    """The last ones that this process may use: the first has most of the machine's own work."""
    return sorted(os.sched_getaffinity(0))[-count:]


def wait_for_quiet(longest: float) -> float:
    """Waits until the machine does nothing for a moment; seconds that it took."""
    start = time.monotonic()
    while time.monotonic() - start < longest:
        before = _stat()
        time.sleep(_MOMENT)
        after = _stat()
        if sum(after[core][0] - before[core][0] for core in after) < _MOMENT * 0.25:
            break
    return time.monotonic() - start


def ask(request: dict[str, Any], cores: Sequence[int]) -> tuple[dict[str, Any], float]:
    """A worker's answer, and the cores' worth of time that others took of its cores meanwhile."""
    before, start = _stat(), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, str(_WORKER), json.dumps(request)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=peer_libraries.environment(request["contender"]),
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509 - this process has one thread
    )
    cpu_before = os.times()
    try:
        output, errors = process.communicate(timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        message = f"took more than {_TIMEOUT} s"
        raise Failed(message) from None
    seconds, after, cpu_after = time.perf_counter() - start, _stat(), os.times()
    own = cpu_after.children_user + cpu_after.children_system - cpu_before.children_user - cpu_before.children_system
    busy = sum(after[core][0] - before[core][0] for core in cores)
    stolen = sum(after[core][1] - before[core][1] for core in cores)
    lines = output.splitlines()
    if not lines or not lines[-1].startswith("{"):
        message = f"ended with {process.returncode}: {errors.strip()[-200:]}"
        raise Failed(message)
    answer = json.loads(lines[-1])
    if "failed" in answer:
        raise Failed(answer["failed"])
    return answer, max(0.0, (busy - own + stolen) / seconds)


def request_of(cell: Cell) -> dict[str, Any]:
    """What the worker is told."""
    recipe = clips.RECIPES[cell.clip]
    return {
        "contender": cell.contender,
        "task": cell.task,
        "path": str(clips.clip(cell.clip)),
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


def to_run(cell: Cell, answer: dict[str, Any], noise: float) -> Run:
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
        faults=answer["faults"] / frames,
        noise=noise,
        check=answer["check"],
    )


def measure(cell: Cell, *, longest_wait: float) -> tuple[Run, float]:
    """The least disturbed of a few tries, and the seconds spent waiting.

    Raises:
        Failed: if the contender cannot.
    """
    best: Run | None = None
    waited = 0.0
    for attempt in range(1 + _MOST_REPEATS):
        waited += wait_for_quiet(min(_LONGEST_WAIT, longest_wait - waited))
        run = to_run(cell, *ask(request_of(cell), cores_for(cell.cores)))
        if best is None or run.noise < best.noise:
            best = run
        # Where nothing is left to wait with, the machine is not ours, and trying again would not make it so.
        if best.noise <= _MOST_NOISE * cell.cores or waited >= longest_wait or attempt == _MOST_REPEATS:
            break
    assert best is not None
    return best, waited


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

    def __init__(self, cells: Iterable[Cell], wait_seconds: float, report: Callable[[str], None]) -> None:
        self.found = Measured({cell: [] for cell in cells}, {}, {})
        self._left_to_wait = wait_seconds
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
        return cell not in self.found.failures and len(self.found.runs[cell]) < cell.most_runs

    def _one(self, cell: Cell) -> bool:
        where = f"{cell.task} {cell.clip} {cell.contender} {cell.cores} core(s), {cell.threads} thread(s)"
        try:
            run, waited = measure(cell, longest_wait=self._left_to_wait)
        except Failed as failure:
            self.found.failures[cell] = str(failure)
            self._report(f"{where}: FAILED: {failure}")
            return False
        self._left_to_wait -= waited
        self.found.runs[cell].append(run)
        self._report(
            f"{self.seconds():5.0f} s  {where}: {run.value:.2f} {TASKS[cell.task].unit}, {run.cpu_ms:.2f} ms CPU, "
            f"{run.peak_rss_mb:.0f} MB, noise {run.noise:.2f}"
        )
        return True


def measure_all(
    cells: Iterable[Cell],
    *,
    next_turns: Callable[[Measured, int], Sequence[Sequence[Cell]]],
    budget_seconds: float,
    wait_seconds: float,
    report: Callable[[str], None],
) -> Measured:
    """All cells in a first round, which is always finished, then turns of neighboring runs until the budget ends.

    Args:
        cells: what to measure, each at most as often as it says.
        next_turns: asked, with the number of the round, which runs side by side are worth most now; ends when none is.
        budget_seconds: after which no further turn is begun.
        wait_seconds: that may be spent on waiting for a quiet machine, in all.
        report: takes a line of text for each figure.
    """
    session = _Session(cells, wait_seconds, report)
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
