# SPDX-License-Identifier: Apache-2.0
"""One user's program for torchcodec or decord: python program.py PACKAGE original|tricodec CLIP.

It prints the processor time of each task in seconds, of all threads and worker processes, and the peak memory of the
process after the first one, as JSON. Processor time means the same on a machine in use. TASKS says what the tasks are.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

TASKS = {
    "sequential": "every frame, one after another",
    "random": "32 frames at random places, in one call",
    "clips": "clips of 16 frames from 64 files in torch's DataLoader, batches of 4",
    "clips, 2 workers": "the same with 2 worker processes",
    "first": "opening the file and its first frame",
}
_FILES = 64
_CLIP = 16


class Torchcodec:
    """The user's code for torchcodec."""

    def __init__(self) -> None:
        from torchcodec.decoders import VideoDecoder

        self.open: Callable[[str], Any] = VideoDecoder

    def frame(self, video: Any, i: int) -> Any:
        """One frame."""
        return video[i]

    def frames(self, video: Any, numbers: list[int]) -> Any:
        """Several frames as a tensor."""
        return video.get_frames_at(numbers).data


class Decord:
    """The user's code for decord."""

    def __init__(self) -> None:
        from decord import VideoReader

        self.open: Callable[[str], Any] = VideoReader

    def frame(self, video: Any, i: int) -> Any:
        """One frame."""
        return video[i].asnumpy()

    def frames(self, video: Any, numbers: list[int]) -> Any:
        """Several frames as an array."""
        return video.get_batch(numbers).asnumpy()


class Clips:
    """A map-style dataset of torch: a clip from the middle of each file."""

    def __init__(self, package: str, paths: list[str]) -> None:
        self.package = package
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> Any:
        user = USERS[self.package]()
        video = user.open(self.paths[i])
        start = len(video) // 3 + i
        return user.frames(video, list(range(start, start + _CLIP)))


USERS: dict[str, Callable[[], Any]] = {"torchcodec": Torchcodec, "decord": Decord}


def _used() -> float:
    """Processor time of this process and of children that have ended."""
    uses = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def seconds(work: Callable[[], object], runs: int = 1) -> float:
    """The median processor time of some runs."""
    found = []
    for _ in range(runs):
        start = _used()
        work()
        found.append(_used() - start)
    return statistics.median(found)


def main() -> None:
    package, library, clip = sys.argv[1:]
    if library == "tricodec":
        import tricodec.compat

        tricodec.compat.install(package)
    import torch

    user = USERS[package]()
    count = len(user.open(clip))

    def sequential() -> None:
        video = user.open(clip)
        for i in range(count):
            user.frame(video, i)

    def at_random() -> None:
        user.frames(user.open(clip), random.Random(3).sample(range(count), 32))

    def first() -> None:
        user.frame(user.open(clip), 0)

    found = {"sequential": seconds(sequential)}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["random"] = seconds(at_random, 3)
    found["first"] = seconds(first, 9)
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{i}.mp4") for i in range(_FILES)]
        for path in paths:
            shutil.copy(clip, path)

        def clips(workers: int) -> None:
            for _ in torch.utils.data.DataLoader(Clips(package, paths), batch_size=4, num_workers=workers):
                pass

        found["clips"] = seconds(lambda: clips(0))
        found["clips, 2 workers"] = seconds(lambda: clips(2))
    print(json.dumps({"seconds": found, "memory_mb": memory}))


if __name__ == "__main__":
    main()
