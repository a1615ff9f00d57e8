# SPDX-License-Identifier: Apache-2.0
"""Programs that are written for torchcodec or decord, with the package and with tricodec under its name."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.decode.clips import clip, facts  # noqa: F401  (of the suite)
from benchmarks.results import Case
from benchmarks.suite import Options

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SECONDS = 1.0
_CLIP = "h264_720p"
TASKS = ("sequential", "ranges", "random", "first", "clips", "clips, 2 workers", "clips, 8 workers")
_FILES, _CLIP_FRAMES, _RANGE, _CHOSEN = 64, 16, 50, 32


def cases(options: Options) -> list[Case]:
    """Each package's program with the package and with tricodec; with a DataLoader where there are enough cores."""
    cores = len(os.sched_getaffinity(0))
    found = []
    for package in ("torchcodec", "decord"):
        for task in TASKS[:3] if options.quick else TASKS:
            if int(task.partition(", ")[2].partition(" ")[0] or 0) <= cores:
                found += [Case(task, _CLIP, each, package, cores, unit="ms") for each in ("tricodec", package)]
    return found


class Torchcodec:
    """The user's code for torchcodec."""

    def __init__(self) -> None:
        from torchcodec.decoders import VideoDecoder

        self.open: Callable[[str], Any] = VideoDecoder

    def frame(self, video: Any, number: int) -> Any:
        """One frame."""
        return video[number]

    def frames(self, video: Any, numbers: list[int]) -> Any:
        """Several frames as a tensor."""
        return video.get_frames_at(numbers).data

    def range(self, video: Any, start: int, stop: int) -> Any:
        """Frames that follow each other as a tensor."""
        return video.get_frames_in_range(start, stop).data


class Decord:
    """The user's code for decord."""

    def __init__(self) -> None:
        from decord import VideoReader, cpu

        self.open: Callable[[str], Any] = functools.partial(VideoReader, ctx=cpu())

    def frame(self, video: Any, number: int) -> Any:
        """One frame."""
        return video[number].asnumpy()

    def frames(self, video: Any, numbers: list[int]) -> Any:
        """Several frames as an array."""
        return video.get_batch(numbers).asnumpy()

    def range(self, video: Any, start: int, stop: int) -> Any:
        """Frames that follow each other as an array."""
        return self.frames(video, list(range(start, stop)))


_USERS: dict[str, Callable[[], Torchcodec | Decord]] = {"torchcodec": Torchcodec, "decord": Decord}


class Clips:
    """A map-style dataset of torch: a clip from the middle of each file."""

    def __init__(self, package: str, paths: list[str]) -> None:
        self.package = package
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> Any:
        user = _USERS[self.package]()
        video = user.open(self.paths[number])
        start = len(video) // 3 + number
        return user.frames(video, list(range(start, start + _CLIP_FRAMES)))


@contextlib.contextmanager
def open_work(case: Case) -> Iterator[Work]:
    """A query is one run of the program's loop, the opening of its files included."""
    if case.contender == "tricodec":
        import tricodec_compat

        tricodec_compat.install(case.setting)
    from tricodec.measure.bench import Done

    path = str(clip(case.input))
    with tempfile.TemporaryDirectory() as folder:
        work = _loader(case, path, Path(folder)) if case.task.startswith("clips") else _program(case, path)

        def query() -> Done:
            work()
            return Done()

        yield query


def _program(case: Case, path: str) -> Callable[[], Any]:
    user = _USERS[case.setting]()
    count = len(user.open(path))
    chosen = random.Random(3).sample(range(count), _CHOSEN)

    def sequential() -> None:
        video = user.open(path)
        for number in range(count):
            user.frame(video, number)

    def ranges() -> None:
        video = user.open(path)
        for start in range(0, count, _RANGE):
            user.range(video, start, min(start + _RANGE, count))

    return {
        "sequential": sequential,
        "ranges": ranges,
        "random": lambda: user.frames(user.open(path), chosen),
        "first": lambda: user.frame(user.open(path), 0),
    }[case.task]


def _loader(case: Case, path: str, folder: Path) -> Callable[[], Any]:
    import torch

    paths = [shutil.copy(path, str(folder / f"{number}.mp4")) for number in range(_FILES)]
    workers = int(case.task.partition(", ")[2].partition(" ")[0] or 0)
    dataset: Any = Clips(case.setting, paths)
    return lambda: [None for _ in torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=workers)]
