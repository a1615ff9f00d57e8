# SPDX-License-Identifier: Apache-2.0
"""One figure in a process of its own: pinned, warmed up, timed. Takes a request as JSON, prints a line of JSON."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decode import peers
from benchmarks.threads import in_threads

# What is imported here counts as memory of every contender: hashlib with its OpenSSL and statistics are 4 MB.
_FIRST_REPEATS = 5
_KERNEL_SECONDS = 0.5
_NEIGHBORS = 4
# In 8-bit steps of pictures averaged over blocks. Converters differ by 0.1 on footage and 1.8 on saturated colors,
# which they clip differently; the frames beside one differ by 1.5 and more.
_MOST_UNLIKE = 3.0
_TIE = 0.05


def _cpu_seconds() -> float:
    """Of all threads so far, and of ended children."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


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


def _consume(items: Iterator[Any]) -> int:
    """Takes everything, holding one item at a time; how many frames it were."""
    return sum(map(size_of, items))


def _keep(items: Iterator[Any]) -> int:
    """Takes everything and holds it, as a caller does that asked for those frames; how many they are."""
    return sum(map(size_of, list(items)))


def _warm(work: peers.Work, job: peers.Job) -> None:
    items = work(job)
    next(items)
    items.close()


def _clocked(work: Callable[[], int]) -> dict[str, Any]:
    cpu, start = _cpu_seconds(), time.perf_counter()
    frames = work()
    return {"seconds": time.perf_counter() - start, "frames": frames, "cpu_seconds": _cpu_seconds() - cpu}


def _timed(task: str, work: Any, job: peers.Job) -> dict[str, Any]:
    if task.startswith("transform_"):
        return _timed_kernel(work, job)
    if task == "readers":
        one = dataclasses.replace(job, threads=1)
        _warm(work, one)
        return _clocked(lambda: in_threads([lambda: _consume(work(one))] * job.threads))
    _warm(work, job)
    if task == "first":
        times = [_clocked(lambda: _keep(work(job))) for _ in range(_FIRST_REPEATS)]
        return {"frames": 1, **{name: _middle([time[name] for time in times]) for name in ("seconds", "cpu_seconds")}}
    whole = _keep if task == "random" else _consume
    return _clocked(lambda: whole(work(job)))


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _timed_kernel(work: peers.Kernel, job: peers.Job) -> dict[str, Any]:
    """As many passes as fit the time, in each thread over its own frames."""
    passes = [work(job) for _ in range(job.threads)]
    for once in passes:
        once()
    end = time.perf_counter() + _KERNEL_SECONDS

    def repeat(once: Callable[[], int]) -> int:
        count = 0
        while time.perf_counter() < end:
            count += once()
        return count

    return _clocked(lambda: in_threads([functools.partial(repeat, once) for once in passes]))


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
