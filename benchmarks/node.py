# SPDX-License-Identifier: Apache-2.0
"""Workers that decode: threads of one process, processes, and processes that ask a node.

A worker of a node passes its frames on to the process that measures; those of the other processes stay where they are.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from benchmarks.decode.clips import RECIPES, clip, facts  # noqa: F401  (of the suite)
from benchmarks.results import Case
from benchmarks.suite import Options

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SECONDS = 5.0
_FILES, _WINDOW, _WINDOWS = 16, 16, 64
_SIZE = (224, 224)
THREADS, PROCESSES, NODE = "tricodec, threads", "tricodec, processes", "tricodec, node"
TASKS = ("whole clips", "random windows", "one window again")


def cases(options: Options) -> list[Case]:
    """Each task with each kind of workers; a task of one request has no workers."""
    name = "tiny" if options.quick else "h264_1080p" if options.device == "cuda" else "h264_720p"
    found = []
    for task in TASKS:
        ways = (THREADS, NODE) if task == TASKS[2] else (THREADS, PROCESSES, NODE)
        unit = "ms" if task == TASKS[2] else "frames/s"
        found += [
            Case(task, name, way, options.device, threads=len(os.sched_getaffinity(0)), unit=unit) for way in ways
        ]
    return found


def read(path: str, start: int, count: int, device: str, socket: str) -> Any:
    """What a worker does: frames for a model, in this process or by a node."""
    import tricodec

    if socket:
        node = tricodec.node.connect(socket)
        return node.decode_video(path, start=start, count=count, size=_SIZE, device=device).frames
    workers: dict[str, Any] = {"num_workers": 1} if device == "cpu" else {}
    frames = tricodec.decode_video(path, start=start, count=count, size=_SIZE, device=device, **workers).frames
    if device == "cuda":
        frames.wait()
    return frames


def count_of(*request: Any) -> int:
    """What a process without a node passes on: only the number of its frames."""
    return len(read(*request))


@contextlib.contextmanager
def open_work(case: Case) -> Iterator[Work]:
    """A query is one pass over the files, as many windows at random, or one window of one file."""
    from tricodec import node as nodes
    from tricodec.measure.bench import Done

    path, frames = clip(case.input), RECIPES[case.input].num_frames
    rng = random.Random(7)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tricodec"))
        paths = [str(shutil.copy(path, f"{folder}/{number}")) for number in range(_FILES)]
        socket = ""
        if case.contender == NODE:
            # Kept frames of all groups of pictures of the GPU's clips take 16 GiB.
            settings = nodes.Settings(
                socket=f"{folder}/node", gpu_memory=32 << 30, gpus=(0,) * (case.setting == "cuda")
            )
            socket = nodes.start(settings)
            stack.callback(nodes.connect(socket).stop)
        if case.task == TASKS[2]:
            yield lambda: Done(len(read(paths[0], 100 % frames, _WINDOW, case.setting, socket)))
            return
        pool: Executor = ThreadPoolExecutor(case.threads)
        if case.contender != THREADS:
            pool = ProcessPoolExecutor(case.threads, multiprocessing.get_context("spawn"))
        work = count_of if case.contender == PROCESSES else read
        stack.enter_context(pool)

        def query() -> Done:
            if case.task == TASKS[0]:
                requests = [(each, 0, frames) for each in paths]
            else:
                requests = [(rng.choice(paths), rng.randrange(frames - _WINDOW), _WINDOW) for _ in range(_WINDOWS)]
            done = [pool.submit(work, *request, case.setting, socket) for request in requests]
            return Done(sum(each if isinstance(each, int) else len(each) for each in (each.result() for each in done)))

        yield query
