# SPDX-License-Identifier: Apache-2.0
"""tricodec, by its documented calls."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tricodec

from benchmarks.decode.peers import BATCH, MEAN, SIZE, STD, Job, Work

_RING = 4  # frames with memory that is used in turn, as by a consumer that keeps up with the reader
_TENSOR: dict[str, Any] = {
    "size": (SIZE, SIZE), "dtype": "float32", "layout": "CHW", "mean": MEAN.tolist(), "std": STD.tolist(),
}  # fmt: skip


def _open(job: Job) -> tricodec.FrameReader:
    # The reader decides from the cores that it may use, and is told only where it must take fewer.
    return tricodec.FrameReader(job.path, num_workers=0 if job.threads >= job.cores else job.threads)


def _planes(job: Job) -> Iterator[Any]:
    """The three planes of each frame as arrays over the decoder's memory."""
    with _open(job) as reader:
        for frame in reader:
            yield tuple(np.asarray(plane) for plane in frame.planes)


def _nv12(job: Job) -> Iterator[np.ndarray]:
    with _open(job) as reader:
        for frame in reader:
            yield np.from_dlpack(frame.convert("nv12"))


def _rgb(job: Job, stride: int = 1) -> Iterator[np.ndarray]:
    """Each frame into one of a few arrays of the caller's."""
    transform, out = tricodec.Transform(), np.empty((_RING, job.height, job.width, 3), np.uint8)
    with _open(job) as reader:
        for number, frame in enumerate(reader.iterate(stride=stride)):
            yield transform(frame, out=out[number % _RING])


def _rgb_batches(job: Job) -> Iterator[np.ndarray]:
    with _open(job) as reader:
        yield from reader.batches(_RING)


def _tensors(job: Job, **options: Any) -> Iterator[np.ndarray]:
    """Frames as they come into the slots of a batch."""
    transform, filled = tricodec.Transform(**_TENSOR, **options), 0
    with _open(job) as reader:
        for frame in reader:
            if filled == 0:
                batch = np.empty((BATCH, 3, SIZE, SIZE), np.float32)
            transform(frame, out=batch[filled])
            filled = (filled + 1) % BATCH
            if filled == 0:
                yield batch
        if filled:
            yield batch[:filled]


def _tensor_batches(job: Job, **options: Any) -> Iterator[np.ndarray]:
    with _open(job) as reader:
        yield from reader.batches(BATCH, **_TENSOR, **options)


def _chosen(job: Job) -> Iterator[np.ndarray]:
    with _open(job) as reader:
        yield reader.batch(job.indices, color="rgb")


def _first(job: Job) -> Iterator[np.ndarray]:
    with _open(job) as reader:
        yield tricodec.Transform()(reader[0])


WAYS: dict[str, dict[str, Work]] = {
    "tricodec": {
        "yuv420p": _planes,
        "nv12": _nv12,
        "rgb": _rgb,
        "tensor_antialiased": _tensors,
        "tensor_plain": functools.partial(_tensors, antialias=False),
        "random": _chosen,
        "every8th": functools.partial(_rgb, stride=8),
        "first": _first,
    },
    "tricodec-batch": {
        "rgb": _rgb_batches,
        "tensor_antialiased": _tensor_batches,
        "tensor_plain": functools.partial(_tensor_batches, antialias=False),
        "every8th": _chosen,
    },
}
