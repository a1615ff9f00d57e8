# SPDX-License-Identifier: Apache-2.0
"""One figure in a process of its own: pinned, warmed up, timed. Takes a request as JSON, prints a line of JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peers

# What is imported here counts as memory of every contender: hashlib with its OpenSSL and statistics are 4 MB.
_FIRST_REPEATS = 5
_KERNEL_SECONDS = 0.5
_NEIGHBORS = 4
# In 8-bit steps of pictures averaged over blocks. Converters differ by 0.1 on footage and 1.8 on saturated colors,
# which they clip differently; the frames beside one differ by 1.5 and more.
_MOST_UNLIKE = 3.0
_TIE = 0.05


def _usage() -> tuple[float, int]:
    """Seconds of CPU and page faults so far, those of ended children included."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return seconds, own.ru_minflt + children.ru_minflt


def _peak_rss_mb() -> float:
    """Of this process plus its largest child."""
    kilobytes = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    )
    return kilobytes * 1024 / 1e6


def size_of(item: Any) -> int:
    """Frames in what a contender yields: a batch has them along its first axis, anything else is one frame."""
    shape = getattr(item, "shape", ())
    return int(shape[0]) if len(shape) == 4 else 1


def frames_in(item: Any) -> list[np.ndarray]:
    """Each frame that a contender yielded, as an array."""
    array = np.asarray(item)
    return list(array) if array.ndim == 4 else [array]


def _consume(items: Iterator[Any]) -> tuple[int, Any]:
    """Takes everything, holding one item at a time; how many frames it were, and the last item."""
    count = 0
    last = None
    for item in items:
        count += size_of(item)
        last = item
    return count, last


def _keep(items: Iterator[Any]) -> tuple[int, Any]:
    """Takes everything and holds it, as someone who asked for those frames does."""
    kept = list(items)
    return sum(map(size_of, kept)), kept[-1]


def _together(work: Callable[[], tuple[int, Any]], times: int) -> tuple[int, Any]:
    """The same work in several Python threads; frames of all."""
    results: list[tuple[int, Any]] = []
    failures: list[BaseException] = []

    def one() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=one) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum(count for count, _ in results), results[0][1]


def _mean(item: Any) -> float | None:
    """Of the last frame or batch: contenders that agree did the same work."""
    if item is None:
        return None
    planes = item if isinstance(item, tuple) else (item,)
    return round(sum(float(np.asarray(plane).sum(dtype=np.float64)) for plane in planes), 3)


def _warm(work: peers.Work, job: peers.Job) -> None:
    items = work(job)
    next(items)
    items.close()


def _timed(task: str, work: Any, job: peers.Job) -> dict[str, Any]:
    if task.startswith("transform_"):
        return _timed_kernel(work, job)
    whole = _keep if task == "random" else _consume
    if task == "first":
        return _timed_first(work, job)
    one = dataclasses.replace(job, threads=1) if task == "readers" else job
    _warm(work, one)
    cpu, faults = _usage()
    start = time.perf_counter()
    if task == "readers":
        frames, last = _together(lambda: whole(work(one)), job.threads)
    else:
        frames, last = whole(work(job))
    seconds = time.perf_counter() - start
    cpu_after, faults_after = _usage()
    return {
        "seconds": seconds,
        "frames": frames,
        "cpu_seconds": cpu_after - cpu,
        "faults": faults_after - faults,
        "check": _mean(last),
    }


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _timed_first(work: peers.Work, job: peers.Job) -> dict[str, Any]:
    _warm(work, job)
    times, cpu_times = [], []
    last = None
    for _ in range(_FIRST_REPEATS):
        cpu, _ = _usage()
        start = time.perf_counter()
        _, last = _keep(work(job))
        times.append(time.perf_counter() - start)
        cpu_times.append(_usage()[0] - cpu)
    return {
        "seconds": _middle(times),
        "frames": 1,
        "cpu_seconds": _middle(cpu_times),
        "faults": 0,
        "check": _mean(last),
    }


def _timed_kernel(work: peers.Kernel, job: peers.Job) -> dict[str, Any]:
    """As many passes as fit the time, in each thread over its own frames."""
    passes = [work(job) for _ in range(job.threads)]
    for once in passes:
        once()
    cpu, faults = _usage()
    start = time.perf_counter()
    end = start + _KERNEL_SECONDS
    counts = []

    def repeat(once: Callable[[], int]) -> None:
        count = 0
        while time.perf_counter() < end:
            count += once()
        counts.append(count)

    threads = [threading.Thread(target=repeat, args=(once,)) for once in passes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    cpu_after, faults_after = _usage()
    return {
        "seconds": seconds,
        "frames": sum(counts),
        "cpu_seconds": cpu_after - cpu,
        "faults": faults_after - faults,
        "check": None,
    }


def _md5(frame: np.ndarray) -> str:
    import hashlib

    return hashlib.md5(np.ascontiguousarray(frame).tobytes(), usedforsecurity=False).hexdigest()


def _like_another(frame: np.ndarray, number: int, pictures: np.ndarray) -> bool:
    """Whether a frame is unlike ffmpeg's picture of that number, or more like one of its neighbors."""
    rows, columns = pictures.shape[1:3]
    small = frame.reshape(rows, frame.shape[0] // rows, columns, frame.shape[1] // columns, 3).mean((1, 3))
    first = max(0, number - _NEIGHBORS)
    distances = np.abs(pictures[first : number + _NEIGHBORS + 1] - small).mean((1, 2, 3))
    own = distances[number - first]
    return bool(own > _MOST_UNLIKE or own > distances.min() + _TIE)


def _wrong_frames(name: str, job: peers.Job, lists: list[list[int]], reference: str) -> dict[str, Any]:
    """Of the frames asked for in each list, how many are not what they should be.

    A frame is right if it has the bytes that the same contender gives at that number when it decodes the whole clip,
    and if it looks like ffmpeg's picture of that number.
    """
    whole = peers.work("rgb", name.partition("-approximate")[0])
    wanted = {index for indices in lists for index in indices}
    expected = {}
    number = 0
    for item in whole(job):
        for frame in frames_in(item):
            if number in wanted:
                expected[number] = _md5(frame)
            number += 1
    pictures = np.load(reference)
    wrong = []
    for indices in lists:
        sought = peers.work("random", name)(dataclasses.replace(job, indices=tuple(indices)))
        frames = (frame for item in sought for frame in frames_in(item))
        for index, frame in zip(indices, frames, strict=True):
            if _md5(frame) != expected[index] or _like_another(frame, index, pictures):
                wrong.append(index)
    return {"of": sum(map(len, lists)), "wrong": wrong}


def main() -> int:
    """Prints the figure, or {"failed": reason}."""
    request = json.loads(sys.argv[1])
    name, task = request["contender"], request["task"]
    try:
        if task == "versions":
            answer: dict[str, Any] = {"versions": peers.load(name).versions()}
        else:
            job = peers.Job(
                path=Path(request["path"]),
                width=request["width"],
                height=request["height"],
                num_frames=request["num_frames"],
                cores=request["cores"],
                threads=request["threads"],
                indices=tuple(request["indices"]),
            )
            if task == "wrong_frames":
                answer = _wrong_frames(name, job, request["lists"], request["reference"])
            else:
                work = peers.work("tensor_antialiased" if task == "readers" else task, name)
                answer = {**_timed(task, work, job), "peak_rss_mb": _peak_rss_mb()}
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    print(json.dumps(answer), flush=True)
    os._exit(0)  # some peers' threads outlive the interpreter's end and then crash; the figure is taken


if __name__ == "__main__":
    main()
