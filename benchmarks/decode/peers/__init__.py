# SPDX-License-Identifier: Apache-2.0
"""What is measured: each way of doing a task, tricodec's and the others', as a function of a Job.

A module here is imported only in the process that measures it, so that one that is absent costs the others nothing.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
SIZE = 224
BATCH = 16
# (value / 255 - mean) / std as one multiplication and one addition a sample: what a careful user writes.
SCALE = (1 / (255 * STD)).reshape(3, 1, 1)
BIAS = (-MEAN / STD).reshape(3, 1, 1)


@dataclasses.dataclass(frozen=True)
class Job:
    """One figure's work.

    Attributes:
        path: of the clip.
        width: of its frames.
        height: of its frames.
        num_frames: that it has.
        cores: that the process may run on.
        threads: that the contender is told to use.
        indices: of the frames asked for, ascending, where the task asks for some.
    """

    path: Path
    width: int
    height: int
    num_frames: int
    cores: int
    threads: int
    indices: tuple[int, ...] = ()


# A contender's way through a task yields what it made: a frame, or a batch of them along the first of four axes.
Work = Callable[[Job], Iterator[Any]]
# For the tasks of Transform alone: makes a function that goes once over frames already decoded and returns how many.
Kernel = Callable[[Job], Callable[[], int]]

MODULES: dict[str, str] = {
    "tricodec": "ours",
    "tricodec-batch": "ours",
    "tricodec-copy": "ours",
    "tricodec-scalar": "ours_scalar",
    "pyav": "pyav",
    "pyav-views": "pyav",
    "pyav+cv2": "pyav_cv2",
    "pyav+cv2planes": "pyav_cv2",
    "pyav+cv2area": "pyav_cv2",
    "cv2": "pyav_cv2",
    "opencv": "opencv",
    "decord2": "decord2",
    "torchcodec": "torchcodec",
    "torchcodec-approximate": "torchcodec",
    "imageio-ffmpeg": "pipes",
    "ffmpeg-pipe": "pipes",
    "ffmpeg-null": "pipes",
    "dali-cpu": "dali",
    "memcpy": "memory",
}
_WORKS: dict[tuple[str, str], Work | Kernel] = {}


def contender(task: str, *names: str) -> Callable[[Any], Any]:
    """Registers a function as the way that the named contenders do a task."""

    def register(function: Any) -> Any:
        for name in names:
            if MODULES[name] != function.__module__.rpartition(".")[2]:
                message = f"{name} belongs to {MODULES[name]}, not to {function.__module__}"
                raise ValueError(message)
            _WORKS[task, name] = function
        return function

    return register


def load(name: str) -> Any:
    """The module of a contender.

    Raises:
        KeyError: if nothing has the name.
        Exception: whatever its import raises; the text is the reason why it is absent.
    """
    if name not in MODULES:
        message = f"no contender is called {name!r}; accepted: {', '.join(MODULES)}"
        raise KeyError(message)
    return importlib.import_module(f"{__name__}.{MODULES[name]}")


def work(task: str, name: str) -> Any:
    """A contender's function for a task.

    Raises:
        KeyError: if it has none.
    """
    load(name)
    if (task, name) not in _WORKS:
        message = f"{name} has no way of doing {task}"
        raise KeyError(message)
    return _WORKS[task, name]


def normalized(rgb: np.ndarray, out: np.ndarray) -> None:
    """[224, 224, 3] uint8 to [3, 224, 224] float32 in `out`."""
    np.multiply(rgb.transpose(2, 0, 1), SCALE, out=out)
    out += BIAS


def batches(pictures: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """[N, 3, 224, 224] float32 of [224, 224, 3] uint8 pictures, 16 at a time and the rest."""
    filled = 0
    for picture in pictures:
        if filled == 0:
            batch = np.empty((BATCH, 3, SIZE, SIZE), np.float32)
        normalized(picture, batch[filled])
        filled += 1
        if filled == BATCH:
            yield batch
            filled = 0
    if filled:
        yield batch[:filled]
