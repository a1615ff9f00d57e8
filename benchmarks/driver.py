# SPDX-License-Identifier: Apache-2.0
"""Runs cells in rounds, each figure in a process and on cores of its own, and watches what else the machine does."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import clips
from plan import TASKS, Cell

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


def measure_all(
    cells: Iterable[Cell],
    *,
    worth_repeating: Callable[[Mapping[Cell, list[Run]]], Collection[Cell]],
    budget_seconds: float,
    wait_seconds: float,
    report: Callable[[str], None],
) -> tuple[dict[Cell, list[Run]], dict[Cell, str]]:
    """All cells in a first round, which is always finished, then those worth it until the budget ends.

    The contenders of a group take turns, so that what is compared was measured side by side.

    Args:
        cells: what to measure, each in at most as many rounds as it says.
        worth_repeating: asked before each further round which cells, of what was measured so far, to measure again.
        budget_seconds: after which no further figure is begun.
        wait_seconds: that may be spent on waiting for a quiet machine, in all.
        report: takes a line of text for each figure.

    Returns:
        The figures of each cell, and why a cell has none.
    """
    runs: dict[Cell, list[Run]] = {cell: [] for cell in cells}
    failures: dict[Cell, str] = {}
    start = time.monotonic()
    groups: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in runs:
        groups.setdefault((cell.clip, cell.task, cell.cores), []).append(cell)
    for number in range(max(cell.rounds for cell in runs)):
        chosen = worth_repeating(runs) if number > 0 else runs.keys()
        if not chosen:
            break
        for group in groups.values():
            group.append(group.pop(0))  # nobody always runs after the same one
            for cell in group:
                over = number > 0 and time.monotonic() - start > budget_seconds
                if cell not in chosen or number >= cell.rounds or cell in failures or over:
                    continue
                where = f"{cell.task} {cell.clip} {cell.contender} {cell.cores} core(s), {cell.threads} thread(s)"
                try:
                    run, waited = measure(cell, longest_wait=wait_seconds)
                except Failed as failure:
                    failures[cell] = str(failure)
                    report(f"{where}: FAILED: {failure}")
                    continue
                wait_seconds -= waited
                runs[cell].append(run)
                unit = TASKS[cell.task].unit
                report(
                    f"{time.monotonic() - start:5.0f} s  {where}: {run.value:.2f} {unit}, {run.cpu_ms:.2f} ms CPU, "
                    f"{run.peak_rss_mb:.0f} MB, noise {run.noise:.2f}"
                )
    return runs, failures
