# SPDX-License-Identifier: Apache-2.0
"""Events of a Profiler in the trace event format, which Perfetto and chrome://tracing open."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

_FIRST_GPU_TRACK = 1 << 22
"""Linux gives threads numbers below this one."""


class StageEvent(NamedTuple):
    """One call of a stage, or one piece of its work on a GPU."""

    begin_seconds: float
    """Its start in seconds since the start of the block."""
    seconds: float
    """Its duration in seconds, with the stages that ran inside this one."""
    stage: str
    """Name of the stage."""
    frames: int
    """Number of frames, counted as in `StageTime`."""
    device: str
    """``cpu`` for a call, ``cuda:0`` for work on that GPU."""
    thread: int
    """Number that the operating system gives the calling thread; 0 for work on a GPU."""


def _lanes(events: Iterable[StageEvent]) -> Iterator[tuple[int, StageEvent]]:
    """Spreads events over tracks on which no two overlap: work of several streams of a GPU runs at the same time."""
    ends: list[float] = []
    for event in sorted(events):
        lane = next((number for number, end in enumerate(ends) if end <= event.begin_seconds), len(ends))
        ends[lane : lane + 1] = [event.begin_seconds + event.seconds]
        yield lane, event


def trace_events(events: list[StageEvent], process: int) -> list[dict[str, Any]]:
    """A complete event ("X") for each stage event, and the names of tracks ("M"). Times are microseconds.

    Threads are tracks, named as in Python or "worker N". The work of a GPU has its own tracks.
    """

    def name(kind: str, track: int, text: str) -> dict[str, Any]:
        return {"ph": "M", "name": kind, "pid": process, "tid": track, "args": {"name": text}}

    def complete(track: int, event: StageEvent) -> dict[str, Any]:
        return {
            "ph": "X", "name": event.stage, "cat": "tricodec", "pid": process, "tid": track,
            "ts": event.begin_seconds * 1e6, "dur": event.seconds * 1e6,
            "args": {"frames": event.frames, "device": event.device},
        }  # fmt: skip

    python_names = {thread.native_id: thread.name for thread in threading.enumerate()}
    written = [name("process_name", 0, "tricodec")]
    slices = []
    threads = {event.thread for event in events if event.device == "cpu"}
    num_workers = 0
    for thread in sorted(threads):
        if thread not in python_names:  # a decoder's; viewers show the thread's number beside the name
            num_workers += 1
        written.append(name("thread_name", thread, python_names.get(thread, f"worker {num_workers}")))
        slices += [complete(thread, event) for event in events if event.thread == thread and event.device == "cpu"]
    track = _FIRST_GPU_TRACK
    for device in sorted({event.device for event in events} - {"cpu"}):
        lanes = list(_lanes(event for event in events if event.device == device))
        for lane in range(1 + max(lane for lane, _ in lanes)):
            written.append(name("thread_name", track + lane, device if lane == 0 else f"{device} ({lane + 1})"))
        slices += [complete(track + lane, event) for lane, event in lanes]
        track += 1 + max(lane for lane, _ in lanes)
    # Enclosing slices come first where two begin at the same time.
    slices.sort(key=lambda each: (each["ts"], -each["dur"]))
    return [*written, *slices]
