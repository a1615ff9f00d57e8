# SPDX-License-Identifier: Apache-2.0
"""How each package does each task, as a function of a Job that yields frames or batches of them.

A module here is imported only in the process that measures it, so that a package that is absent costs the others
nothing.
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
# (value / 255 - mean) / std as one multiplication and one addition for each sample: what a careful user writes.
SCALE = (1 / (255 * STD)).reshape(3, 1, 1)
BIAS = (-MEAN / STD).reshape(3, 1, 1)


@dataclasses.dataclass(frozen=True)
class Job:
    """The work of a query.

    Attributes:
        path: the clip.
        width: width of its frames.
        height: height of its frames.
        num_frames: number of its frames.
        threads: threads that the contender is told to use.
        cores: cores that the process may use.
        indices: the frames asked for, ascending; empty where the task takes all.
    """

    path: Path
    width: int
    height: int
    num_frames: int
    threads: int
    cores: int
    indices: tuple[int, ...] = ()


Work = Callable[[Job], Iterator[Any]]
"""Yields a frame, or a batch of them along the first of four axes."""

_MODULES = {
    "tricodec": "ours",
    "tricodec-batch": "ours",
    "pyav": "pyav",
    "pyav-views": "pyav",
    "pyav+cv2": "pyav_cv2",
    "pyav+cv2planes": "pyav_cv2",
    "opencv": "opencv",
    "decord2": "decord2",
    "torchcodec": "torchcodec",
    "torchcodec-approximate": "torchcodec",
    "imageio-ffmpeg": "imageio",
}


def ways(contender: str) -> dict[str, Work]:
    """A contender's functions by task."""
    module = importlib.import_module(f"{__name__}.{_MODULES[contender]}")
    found: dict[str, Work] = module.WAYS[contender]
    return found


def size_of(item: Any) -> int:
    """Frames in what a contender yields: a batch has them along its first axis, anything else is one frame."""
    shape = getattr(item, "shape", ())
    return int(shape[0]) if len(shape) == 4 else 1


def batches(pictures: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Normalized [N, 3, 224, 224] float32 of [224, 224, 3] uint8 pictures, 16 at a time and the rest."""
    filled = 0
    for picture in pictures:
        if filled == 0:
            batch = np.empty((BATCH, 3, SIZE, SIZE), np.float32)
        np.multiply(picture.transpose(2, 0, 1), SCALE, out=batch[filled])
        batch[filled] += BIAS
        filled += 1
        if filled == BATCH:
            yield batch
            filled = 0
    if filled:
        yield batch[:filled]
