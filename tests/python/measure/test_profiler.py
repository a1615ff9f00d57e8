# SPDX-License-Identifier: Apache-2.0
"""`tricodec.Profiler`: stages, events, the callback that receives them, and the file of a trace."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import least
from tricodec.measure._profiler import StageEvent, trace_events

CLIP = "h264_bframes.mp4"


def test_a_read_passes_read_decode_and_transform() -> None:
    with tricodec.Profiler() as profiler, tricodec.FrameReader(generated(CLIP), device="cpu") as reader:
        num_frames = len(reader)
        reader.batch(range(num_frames), size=(48, 64))

    stages = profiler.stages
    assert {"read", "index", "decode", "transform"} <= set(stages) <= {"read", "index", "decode", "transform", "wait"}
    assert {name: stages[name].frames for name in ("read", "index", "decode", "transform")} == {
        "read": num_frames, "index": num_frames, "decode": num_frames, "transform": num_frames
    }  # fmt: skip
    assert stages["transform"].calls == num_frames
    assert stages["decode"].calls >= num_frames
    assert all(stage.seconds > 0 for stage in stages.values())
    assert all(stage.gpu_seconds == 0 for stage in stages.values())


def test_a_stage_takes_the_time_that_its_calls_take() -> None:
    source = np.random.default_rng(3).integers(0, 256, 4 << 20, np.uint8)
    codec = tricodec.Codec(algorithm="Deflate", algorithm_type=5, device="cpu", num_threads=1)
    codec.encode(source)  # starts the codec's threads

    def share_of_other_time() -> float:
        begin = time.perf_counter()
        with tricodec.Profiler() as profiler:
            codec.encode(source)
        most = time.perf_counter() - begin
        stage = profiler.stages["compress"]
        assert stage.calls == 1
        assert 0 < stage.seconds <= profiler.seconds <= most
        return 1 - stage.seconds / profiler.seconds

    assert least(share_of_other_time, 0.5) < 0.5


def test_streams_and_files_pass_their_stages() -> None:
    frames = np.zeros((6, 48, 64, 3), np.uint8)
    codec = tricodec.Codec(algorithm="LZ4", device="cpu")
    with tricodec.Profiler() as profiler:
        tricodec.encode_video(frames, codec="h264", frame_rate=25)
        codec.decode(codec.encode(frames.reshape(-1)))

    stages = profiler.stages
    assert stages["encode"].calls >= 6
    assert (stages["encode"].frames, stages["write"].frames, stages["write"].calls) == (6, 6, 6)
    assert (stages["compress"].calls, stages["decompress"].calls) == (1, 1)


def test_nothing_before_or_after_is_counted() -> None:
    with tricodec.FrameReader(generated(CLIP), device="cpu") as reader:
        reader.batch([0, 1])
        with tricodec.Profiler() as profiler:
            pass
        reader.batch([2, 3])

    assert profiler.stages == {}
    assert profiler.seconds < 10


def test_profilers_beside_one_another_count_each_for_itself() -> None:
    transform = tricodec.Transform(size=(8, 8))
    with tricodec.FrameReader(generated(CLIP), device="cpu") as reader:
        frame = reader[0]
    with tricodec.Profiler() as outer:
        transform(frame)
        with tricodec.Profiler() as inner:
            transform(frame)
            transform(frame)
        transform(frame)

    assert (outer.stages["transform"].calls, inner.stages["transform"].calls) == (4, 2)


# What Nsight does: NVTX loads a library and calls its functions. This one counts the ranges by name.
_INJECTION = r"""
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char g_domains[64][32], g_strings[64][32];
static int g_num_domains, g_num_strings, g_counts[64], g_frames[64], g_depth;

static nvtxDomainHandle_t NVTX_API make_domain(const char* name) {
    strncpy(g_domains[++g_num_domains], name, 31);
    return (nvtxDomainHandle_t)(size_t)g_num_domains;
}
static nvtxStringHandle_t NVTX_API make_string(nvtxDomainHandle_t domain, const char* name) {
    (void)domain;
    strncpy(g_strings[++g_num_strings], name, 31);
    return (nvtxStringHandle_t)(size_t)g_num_strings;
}
static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    (void)domain;
    if (event->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
        const size_t string = (size_t)event->message.registered;
        __atomic_add_fetch(&g_counts[string], 1, __ATOMIC_RELAXED);
        if (event->payloadType == NVTX_PAYLOAD_TYPE_INT64) {
            __atomic_add_fetch(&g_frames[string], (int)event->payload.llValue, __ATOMIC_RELAXED);
        }
    }
    return __atomic_add_fetch(&g_depth, 1, __ATOMIC_RELAXED);
}
static int NVTX_API pop(nvtxDomainHandle_t domain) {
    (void)domain;
    return __atomic_sub_fetch(&g_depth, 1, __ATOMIC_RELAXED);
}
static void tell(void) {
    for (int i = 1; i <= g_num_domains; ++i) printf("domain %s\n", g_domains[i]);
    for (int i = 1; i <= g_num_strings; ++i) printf("range %s %d %d\n", g_strings[i], g_counts[i], g_frames[i]);
    printf("open %d\n", g_depth);
}
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
    const NvtxExportTableCallbacks* callbacks = (const NvtxExportTableCallbacks*)get_export_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (callbacks == NULL || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)make_domain;
    *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)make_string;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    atexit(tell);
    return 1;
}
"""

_PROGRAM = """
import sys, tricodec
with tricodec.Profiler() as profiler:
    with tricodec.FrameReader(sys.argv[1], device="cpu") as reader:
        reader.batch(range(8), size=(24, 32))
for name, stage in profiler.stages.items():
    print("stage", name, stage.calls)
"""


@pytest.mark.skipif("nvtx: in this build" not in tricodec.build_info(), reason="built without NVTX's headers")
def test_stages_are_ranges_for_a_tool_that_listens(tmp_path: Path) -> None:
    headers = next(
        folder for folder in (Path("/usr/local/cuda/include"), Path("/usr/include")) if (folder / "nvtx3").is_dir()
    )
    source, library = tmp_path / "injection.c", tmp_path / "libinjection.so"
    source.write_text(_INJECTION)
    compiler = ["cc", "-shared", "-fPIC", f"-I{headers}", str(source), "-o", str(library)]
    subprocess.run(compiler, check=True)

    said = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(generated(CLIP))],
        env={**os.environ, "NVTX_INJECTION64_PATH": str(library)}, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip

    lines = [line.split() for line in said]
    ranges = {line[1]: int(line[2]) for line in lines if line[0] == "range"}
    payloads = {line[1]: int(line[3]) for line in lines if line[0] == "range"}
    stages = {name: int(count) for kind, name, count in (line for line in lines if line[0] == "stage")}
    assert ["domain", "tricodec"] in lines
    assert ["open", "0"] in lines
    assert {"read", "decode", "transform"} <= set(stages)
    assert all(ranges[name] >= count for name, count in stages.items())
    assert ranges["transform"] == stages["transform"] == 8
    assert payloads["transform"] == 8
    assert payloads["decode"] >= 8
    assert ranges["encode"] == 0


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
