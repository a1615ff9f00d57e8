# SPDX-License-Identifier: Apache-2.0
"""Events of `tricodec.Profiler`: their list, the callback that receives them, and the file of a trace."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tricodec
import tricodec.io
from media import generated
from tricodec._profiler import StageEvent
from tricodec._trace import trace_events

CLIP = "h264_bframes.mp4"


def read_all(num_workers: int = 1) -> int:
    with tricodec.FrameReader(generated(CLIP), num_workers=num_workers, device="cpu") as reader:
        return len(reader.batch(range(len(reader)), size=(48, 64)))


def test_events_add_up_to_the_stages() -> None:
    with tricodec.Profiler() as profiler:
        read_all(num_workers=2)

    events, stages = profiler.events, profiler.stages
    for name, stage in stages.items():
        of_stage = [event for event in events if event.stage == name]
        assert len(of_stage) == stage.calls
        assert sum(event.frames for event in of_stage) == stage.frames
        assert sum(event.seconds for event in of_stage) >= 0.999 * stage.seconds  # with stages inside
    assert {event.stage for event in events} == set(stages)
    assert all(0 <= event.begin_seconds <= profiler.seconds for event in events)
    assert {event.device for event in events} == {"cpu"}
    ends = [event.begin_seconds + event.seconds for event in events]
    assert profiler.dropped_events == 0
    assert ends[-1] <= profiler.seconds


def test_only_the_latest_events_are_kept() -> None:
    with (
        tricodec.Profiler(max_events=10) as few,
        tricodec.Profiler() as all_of_them,
        tricodec.Profiler(max_events=0) as none,
    ):
        read_all()

    assert few.events[-1].stage == all_of_them.events[-1].stage
    assert len(few.events) == 10
    assert few.dropped_events == len(all_of_them.events) - 10
    assert (none.events, none.dropped_events) == ([], 0)
    assert none.stages.keys() == all_of_them.stages.keys()


def test_a_callback_receives_each_event_on_one_thread() -> None:
    received: list[tuple[str, float, int, str]] = []
    threads = set()

    def report(stage: str, seconds: float, frames: int, device: str) -> None:
        received.append((stage, seconds, frames, device))
        threads.add(threading.get_ident())

    with tricodec.Profiler(report) as profiler:
        read_all(num_workers=2)
    num_received = len(received)
    read_all()

    assert received == [(event.stage, event.seconds, event.frames, event.device) for event in profiler.events]
    assert len(received) == num_received  # nothing after the block
    assert len(threads) == 1
    assert threads != {threading.get_ident()}
    assert profiler.missed_events == 0


def test_a_callback_that_raises_is_logged_and_not_called_again(caplog: pytest.LogCaptureFixture) -> None:
    calls = []

    def fail(stage: str, seconds: float, frames: int, device: str) -> None:
        calls.append(stage)
        raise KeyError(stage)

    with caplog.at_level(logging.ERROR, logger="tricodec"), tricodec.Profiler(fail) as profiler:
        num_frames = read_all()

    assert len(calls) == 1
    assert profiler.stages["transform"].frames == num_frames
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [KeyError]


def test_a_slow_callback_misses_events_and_holds_no_decoder() -> None:
    passed = threading.Event()
    received = []

    def wait(stage: str, seconds: float, frames: int, device: str) -> None:
        received.append(stage)
        assert passed.wait(30)

    transform = tricodec.Transform(size=(8, 8))
    with tricodec.FrameReader(generated(CLIP), device="cpu") as reader:
        frame = reader[0]
    with tricodec.Profiler(wait, max_events=4) as profiler:
        transform(frame)
        until = time.monotonic() + 10
        while not received and time.monotonic() < until:
            time.sleep(0.005)
        for _ in range(20):
            transform(frame)
        passed.set()

    assert len(received) == 5
    assert profiler.missed_events == 16


def slices_of(trace: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in trace if event["ph"] == "X"]


def test_a_trace_has_threads_as_tracks_and_stages_as_slices(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with tricodec.Profiler() as profiler:
        num_frames = read_all(num_workers=2)
    profiler.save_trace(path)

    trace = json.loads(path.read_text())
    slices = slices_of(trace["traceEvents"])
    assert trace["displayTimeUnit"] == "ms"
    assert trace["otherData"]["dropped_events"] == 0
    assert {event["ph"] for event in trace["traceEvents"]} == {"M", "X"}
    assert {event["pid"] for event in trace["traceEvents"]} == {os.getpid()}
    assert len(slices) == len(profiler.events)
    assert sum(event["args"]["frames"] for event in slices if event["name"] == "transform") == num_frames
    named = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert named.keys() == {event["tid"] for event in slices} == {event.thread for event in profiler.events}
    assert named.pop(threading.main_thread().native_id) == "MainThread"
    assert [named[thread] for thread in sorted(named)] == [f"worker {number + 1}" for number in range(len(named))]
    assert max(event["ts"] + event["dur"] for event in slices) <= profiler.seconds * 1e6


def test_work_of_a_gpu_has_tracks_without_overlap() -> None:
    begins_and_seconds = [(0.0, 2.0), (1.0, 2.0), (2.0, 1.0), (5.0, 1.0)]
    events = [StageEvent(begin, seconds, "transform", 1, "cuda:0", 0) for begin, seconds in begins_and_seconds]
    events += [StageEvent(0.5, 0.1, "decode", 1, "cuda:1", 0), StageEvent(0.0, 9.0, "wait", 1, "cpu", 77)]

    trace = trace_events(events, 1)

    names = {event["tid"]: event["args"]["name"] for event in trace if event["name"] == "thread_name"}
    by_track: dict[str, list[tuple[float, float]]] = {}
    for event in slices_of(trace):
        by_track.setdefault(names[event["tid"]], []).append((event["ts"], event["ts"] + event["dur"]))
    assert list(names.values()) == ["worker 1", "cuda:0", "cuda:0 (2)", "cuda:1"]
    assert {name: len(slices) for name, slices in by_track.items()} == {
        "worker 1": 1, "cuda:0": 3, "cuda:0 (2)": 1, "cuda:1": 1
    }  # fmt: skip
    for slices in by_track.values():
        assert all(first[1] <= second[0] for first, second in pairwise(sorted(slices)))
