# SPDX-License-Identifier: Apache-2.0
"""Decoding files on a CPU: tricodec beside PyAV, OpenCV, decord2, torchcodec and imageio-ffmpeg.

A query opens the clip and takes everything that the task asks for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.decode import peers
from benchmarks.decode.clips import RECIPES, clip, facts  # noqa: F401  (of the suite)
from benchmarks.results import Case
from benchmarks.suite import Options

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SECONDS = 1.0
CHIEF = "h264_1080p"
_CLIPS = ("hevc_1080p", "av1_1080p", "vp9_1080p", "h264_720p", "hevc_720p", "av1_720p")


@dataclasses.dataclass(frozen=True)
class Task:
    """One kind of work: its unit, the contenders on the chief clip, and the strongest of them, for the others."""

    unit: str
    contenders: str
    elsewhere: str


_SOUGHT = "tricodec torchcodec torchcodec-approximate opencv decord2 pyav"
TASKS = {
    "yuv420p": Task("frames/s", "tricodec pyav pyav-views imageio-ffmpeg", "tricodec pyav-views"),
    "nv12": Task("frames/s", "tricodec pyav imageio-ffmpeg", "tricodec pyav imageio-ffmpeg"),
    "rgb": Task(
        "frames/s",
        "tricodec tricodec-batch pyav pyav+cv2 opencv decord2 torchcodec imageio-ffmpeg",
        "tricodec pyav+cv2 opencv decord2",
    ),
    "tensor_antialiased": Task(
        "frames/s",
        "tricodec tricodec-batch pyav decord2 torchcodec imageio-ffmpeg",
        "tricodec-batch pyav imageio-ffmpeg",
    ),
    "tensor_plain": Task(
        "frames/s", "tricodec tricodec-batch pyav+cv2 pyav+cv2planes opencv", "tricodec-batch pyav+cv2planes"
    ),
    "random": Task("ms", _SOUGHT, "tricodec torchcodec-approximate opencv decord2 pyav"),
    "every8th": Task("frames/s", f"{_SOUGHT} tricodec-batch", "tricodec tricodec-batch torchcodec-approximate opencv"),
    "first": Task("ms", "tricodec torchcodec opencv decord2 pyav", "tricodec opencv pyav"),
}
_ONE_SETTING = ("tricodec", "tricodec-batch")  # they choose for themselves
_QUICK = ("rgb", "random", "first")


def _threads(contender: str, cores: int, *, both: bool) -> tuple[int, ...]:
    """The settings to try: FFmpeg's frame threads on two cores are fastest with three or with five."""
    if cores == 1 or contender in _ONE_SETTING:
        return (cores,)
    return (cores + 1, cores + 3) if both else (cores + 1,)


def cases(options: Options) -> list[Case]:
    """The chief clip with every contender, and the others with the strongest, on one core and on two."""
    found = []
    for name in (CHIEF,) if options.quick else (CHIEF, *_CLIPS):
        for task, about in TASKS.items():
            if options.quick and task not in _QUICK:
                continue
            for cores in (1, 2)[: len(os.sched_getaffinity(0))]:
                for contender in (about.contenders if name == CHIEF else about.elsewhere).split():
                    for threads in _threads(contender, cores, both=name == CHIEF and not options.quick):
                        found.append(Case(task, name, contender, "", cores, threads, about.unit))
    return found


def _indices(task: str, num_frames: int) -> tuple[int, ...]:
    if task == "random":
        return tuple(sorted(random.Random(0).sample(range(num_frames), min(32, num_frames))))
    return tuple(range(0, num_frames, 8)) if task == "every8th" else ()


@contextlib.contextmanager
def open_work(case: Case) -> Iterator[Work]:
    """A query does the whole task.

    Raises:
        RuntimeError: the contender gives another number of frames.
    """
    from tricodec.measure.bench import Done

    recipe = RECIPES[case.input]
    indices = _indices(case.task, recipe.num_frames)
    job = peers.Job(clip(case.input), recipe.width, recipe.height, recipe.num_frames, case.threads, case.cores, indices)
    work = peers.ways(case.contender)[case.task]
    expected = len(indices) or (1 if case.task == "first" else recipe.num_frames)

    def query() -> Done:
        items = work(job)
        # Chosen frames are kept, as a caller keeps them; of all others one is held at a time.
        count = sum(map(peers.size_of, list(items) if case.task == "random" else items))
        if count != expected:
            message = f"{case.contender} gave {count} frames of {expected}"
            raise RuntimeError(message)
        return Done(count)

    yield query
