# SPDX-License-Identifier: Apache-2.0
"""decord2's VideoReader; it converts and resizes with its own libswscale."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

import decord
import numpy as np

from benchmarks.decode.peers import SIZE, Job, batches, contender


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {"decord2": importlib.metadata.version("decord2")}


def _open(job: Job, size: int = -1) -> decord.VideoReader:
    return decord.VideoReader(str(job.path), ctx=decord.cpu(0), num_threads=job.threads, width=size, height=size)


def _frames(job: Job, size: int = -1) -> Iterator[np.ndarray]:
    reader = _open(job, size)
    for _ in range(len(reader)):
        yield reader.next().asnumpy()


@contender("rgb", "decord2")
def rgb(job: Job) -> Iterator[np.ndarray]:
    """Each frame as a new array."""
    yield from _frames(job)


@contender("tensor_antialiased", "decord2")
def tensors(job: Job) -> Iterator[np.ndarray]:
    """Frames of 224x224 from its reader, then numpy."""
    yield from batches(_frames(job, SIZE))


@contender("random", "decord2")
@contender("every8th", "decord2")
def some_frames(job: Job) -> Iterator[np.ndarray]:
    """One call for all."""
    yield _open(job).get_batch(list(job.indices)).asnumpy()


@contender("first", "decord2")
def first_frame(job: Job) -> Iterator[np.ndarray]:
    """One RGB frame."""
    yield _open(job).next().asnumpy()
