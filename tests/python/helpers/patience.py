# SPDX-License-Identifier: Apache-2.0
"""Bounds of time on a machine that others use too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path


def least(measure: Callable[[], float], bound: float, patience_seconds: float = 60.0) -> float:
    """The least figure of several measurements, which end at the first one within the bound.

    A busy machine spoils some of them. Code that is too slow spoils all.
    """
    deadline = time.monotonic() + patience_seconds
    figure = measure()
    while figure > bound and time.monotonic() < deadline:
        figure = min(figure, measure())
    return figure


def least_seconds(measure: Callable[[], float], bound: float) -> float:
    """The same of seconds, as if the machine were free: each figure is divided by how much longer computing takes."""

    def as_if_free() -> float:
        before = slowdown()
        return measure() / max(1.0, before, slowdown())

    return least(as_if_free, bound)


def slowdown() -> float:
    """Time over processor time of some computing: what else runs on the machine makes it more than 1."""
    began, used, wanted = time.perf_counter(), time.thread_time(), 0.02
    while time.thread_time() < used + wanted:
        pass
    return (time.perf_counter() - began) / wanted


def at_rest(*processes: int) -> bool:
    """Whether no thread of these processes runs, waits for a processor or waits for a disk, apart from the caller's."""
    mine = str(threading.get_native_id())
    try:
        for process in processes:
            for task in Path(f"/proc/{process}/task").iterdir():
                if task.name != mine and (task / "stat").read_text().rpartition(")")[2].split()[0] in "RD":
                    return False
    except (FileNotFoundError, ProcessLookupError):
        return False  # one has ended just now
    return True


def wait_for_rest(process: int) -> None:
    """Waits until a process does nothing more by itself: each thread waits for something that does not come."""
    deadline = time.monotonic() + 10.0  # there may be threads that look for something again and again
    looks = 0
    while looks < 5 and time.monotonic() < deadline:  # a look takes one thread after the other
        looks = looks + 1 if at_rest(process) else 0
        time.sleep(0.01)


def pause(seconds: float) -> None:
    """Sleeps, and as much longer as the machine is busy."""
    time.sleep(seconds * max(1.0, slowdown()))


def until(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    """Waits until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not after {seconds:g} s: {what}"
        time.sleep(0.01)
