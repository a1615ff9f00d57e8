# SPDX-License-Identifier: Apache-2.0
"""One user's program for torchcodec or decord: python program.py PACKAGE original|tricodec CLIP DEVICE CLOCK.

It prints the seconds of each task and the peak memory of the process after the first one, as JSON. CLOCK is wall, or
processor: the time of all threads and worker processes, which means the same on a machine in use. TASKS says what the
tasks are; those of worker processes are for the CPU.
"""

from __future__ import annotations

import functools
import json
import os
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TASKS = {
    "sequential": "every frame, one after another",
    "ranges": "every frame, 50 in a call",
    "random": "32 frames at random places, in one call",
    "clips": "clips of 16 frames from 64 files in torch's DataLoader, batches of 4",
    "clips, 2 workers": "the same with 2 worker processes",
    "clips, 8 workers": "the same with 8 worker processes",
    "first": "opening the file and its first frame",
}
_FILES = 64
_CLIP = 16
_RANGE = 50


class Torchcodec:
    """The user's code for torchcodec."""

    def __init__(self, device: str) -> None:
        from torchcodec.decoders import VideoDecoder

        self.open: Callable[[str], Any] = functools.partial(VideoDecoder, device=device)

    def frame(self, video: Any, i: int) -> Any:
        """One frame."""
        return video[i]

    def frames(self, video: Any, numbers: list[int]) -> Any:
        """Several frames as a tensor."""
        return video.get_frames_at(numbers).data

    def range(self, video: Any, start: int, stop: int) -> Any:
        """Frames that follow each other as a tensor."""
        return video.get_frames_in_range(start, stop).data


class Decord:
    """The user's code for decord."""

    def __init__(self, device: str) -> None:
        from decord import VideoReader, cpu, gpu

        self.open: Callable[[str], Any] = functools.partial(VideoReader, ctx=cpu() if device == "cpu" else gpu())

    def frame(self, video: Any, i: int) -> Any:
        """One frame."""
        return video[i].asnumpy()

    def frames(self, video: Any, numbers: list[int]) -> Any:
        """Several frames as an array."""
        return video.get_batch(numbers).asnumpy()

    def range(self, video: Any, start: int, stop: int) -> Any:
        """Frames that follow each other as an array."""
        return self.frames(video, list(range(start, stop)))


class Clips:
    """A map-style dataset of torch: a clip from the middle of each file."""

    def __init__(self, package: str, paths: list[str]) -> None:
        self.package = package
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> Any:
        user = USERS[self.package]("cpu")
        video = user.open(self.paths[i])
        start = len(video) // 3 + i
        return user.frames(video, list(range(start, start + _CLIP)))


USERS: dict[str, Callable[[str], Any]] = {"torchcodec": Torchcodec, "decord": Decord}


def _used() -> float:
    """Processor time of this process and of children that have ended."""
    uses = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


CLOCKS = {"processor": _used, "wall": time.perf_counter}


def seconds(work: Callable[[], object], clock: Callable[[], float], runs: int = 1) -> float:
    """The median time of some runs."""
    found = []
    for _ in range(runs):
        start = clock()
        work()
        found.append(clock() - start)
    return statistics.median(found)


def main() -> None:
    package, library, clip, device, clock_name = sys.argv[1:]
    clock = CLOCKS[clock_name]
    if library == "tricodec":
        import tricodec_compat

        tricodec_compat.install(package)
    import torch

    user = USERS[package](device)
    count = len(user.open(clip))
    finish: Callable[[], object] = (lambda: None) if device == "cpu" else torch.cuda.synchronize

    def sequential() -> None:
        video = user.open(clip)
        for i in range(count):
            user.frame(video, i)
        finish()

    def ranges() -> None:
        video = user.open(clip)
        for i in range(0, count, _RANGE):
            user.range(video, i, min(i + _RANGE, count))
        finish()

    def at_random() -> None:
        user.frames(user.open(clip), random.Random(3).sample(range(count), 32))
        finish()

    def first() -> None:
        user.frame(user.open(clip), 0)
        finish()

    if device != "cpu":
        first()  # starts the driver
    found = {"sequential": seconds(sequential, clock, 3)}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["ranges"] = seconds(ranges, clock)
    found["random"] = seconds(at_random, clock, 3)
    found["first"] = seconds(first, clock, 9)
    if device == "cpu":
        found.update(_loaded(package, clip, clock))
    print(json.dumps({"seconds": found, "memory_mb": memory}))


def _loaded(package: str, clip: str, clock: Callable[[], float]) -> dict[str, float]:
    """The tasks with a DataLoader."""
    import torch

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{i}.mp4") for i in range(_FILES)]
        for path in paths:
            shutil.copy(clip, path)

        def clips(workers: int) -> None:
            for _ in torch.utils.data.DataLoader(Clips(package, paths), batch_size=4, num_workers=workers):
                pass

        found["clips"] = seconds(lambda: clips(0), clock)
        for workers in (2, 8):
            if workers <= len(os.sched_getaffinity(0)):
                found[f"clips, {workers} workers"] = seconds(lambda n=workers: clips(n), clock)  # type: ignore[misc]
    return found


if __name__ == "__main__":
    main()
