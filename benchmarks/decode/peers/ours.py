# SPDX-License-Identifier: Apache-2.0
"""tricodec, by its documented calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tricodec

from benchmarks.decode.peers import BATCH, MEAN, SIZE, STD, Job, contender

_RING = 4  # frames with memory that is used in turn, as by a consumer that keeps up with the reader
TENSOR = {
    "size": (SIZE, SIZE),
    "dtype": "float32",
    "layout": "CHW",
    "mean": MEAN.tolist(),
    "std": STD.tolist(),
}


def versions() -> dict[str, str]:
    """Of what does the work."""
    lines = [line.split(":", 1) for line in tricodec.build_info().splitlines() if ":" in line]
    return {"tricodec": tricodec.__version__, **{name.strip(): value.strip() for name, value in lines}}


def _open(job: Job) -> tricodec.FrameReader:
    # Decides itself from the cores it may run on; told only where it must take less than those.
    return tricodec.FrameReader(job.path, num_workers=0 if job.threads >= job.cores else job.threads)


@contender("yuv420p", "tricodec")
def planes(job: Job) -> Iterator[Any]:
    """The three planes of each frame as arrays over the decoder's memory."""
    with _open(job) as reader:
        for frame in reader:
            yield tuple(np.asarray(plane) for plane in frame.planes)


@contender("yuv420p", "tricodec-copy")
def packed_planes(job: Job) -> Iterator[np.ndarray]:
    """Each frame as one new array."""
    with _open(job) as reader:
        for frame in reader:
            yield frame.to_ndarray()


@contender("nv12", "tricodec")
def nv12(job: Job) -> Iterator[np.ndarray]:
    """Each frame as one array [H * 3 / 2, W]."""
    with _open(job) as reader:
        for frame in reader:
            yield np.from_dlpack(frame.convert("nv12"))


def _transformed(job: Job, transform: tricodec.Transform, out: np.ndarray, stride: int = 1) -> Iterator[np.ndarray]:
    """Frames one after another into the rows of `out` in turn."""
    with _open(job) as reader:
        for number, frame in enumerate(reader.iterate(stride=stride)):
            yield transform(frame, out=out[number % len(out)])


@contender("rgb", "tricodec")
def rgb(job: Job) -> Iterator[np.ndarray]:
    """Each frame into one of a few arrays of the caller's."""
    yield from _transformed(job, tricodec.Transform(), np.empty((_RING, job.height, job.width, 3), np.uint8))


@contender("rgb", "tricodec-batch")
def rgb_in_batches(job: Job) -> Iterator[np.ndarray]:
    """A few frames at a time, each batch in memory of its own."""
    with _open(job) as reader:
        yield from reader.batches(_RING)


def _tensors(job: Job, transform: tricodec.Transform) -> Iterator[np.ndarray]:
    with _open(job) as reader:
        batch = np.empty((BATCH, 3, SIZE, SIZE), np.float32)
        filled = 0
        for frame in reader:
            transform(frame, out=batch[filled])
            filled += 1
            if filled == BATCH:
                yield batch
                batch = np.empty((BATCH, 3, SIZE, SIZE), np.float32)
                filled = 0
        if filled:
            yield batch[:filled]


@contender("tensor_antialiased", "tricodec")
def tensors(job: Job) -> Iterator[np.ndarray]:
    """Frames as they come into the slots of a batch."""
    yield from _tensors(job, tricodec.Transform(**TENSOR))


@contender("tensor_plain", "tricodec")
def plain_tensors(job: Job) -> Iterator[np.ndarray]:
    """The same without antialiasing."""
    yield from _tensors(job, tricodec.Transform(**TENSOR, antialias=False))


def _batches(job: Job, **options: Any) -> Iterator[np.ndarray]:
    with _open(job) as reader:
        yield from reader.batches(BATCH, **TENSOR, **options)


@contender("tensor_antialiased", "tricodec-batch")
def tensor_batches(job: Job) -> Iterator[np.ndarray]:
    """A batch at a time."""
    yield from _batches(job)


@contender("tensor_plain", "tricodec-batch")
def plain_tensor_batches(job: Job) -> Iterator[np.ndarray]:
    """The same without antialiasing."""
    yield from _batches(job, antialias=False)


@contender("random", "tricodec")
def random_frames(job: Job) -> Iterator[np.ndarray]:
    """One batch of RGB frames."""
    with _open(job) as reader:
        yield reader.batch(job.indices, color="rgb")


@contender("every8th", "tricodec")
def every_eighth(job: Job) -> Iterator[np.ndarray]:
    """Each wanted frame into one of a few arrays of the caller's."""
    out = np.empty((_RING, job.height, job.width, 3), np.uint8)
    yield from _transformed(job, tricodec.Transform(), out, stride=8)


@contender("every8th", "tricodec-batch")
def every_eighth_in_batches(job: Job) -> Iterator[np.ndarray]:
    """One batch of RGB frames."""
    with _open(job) as reader:
        yield reader.batch(job.indices, color="rgb")


@contender("first", "tricodec")
def first_frame(job: Job) -> Iterator[np.ndarray]:
    """One RGB frame."""
    with _open(job) as reader:
        yield tricodec.Transform()(reader[0])


def kernel(job: Job, **options: Any) -> Callable[[], int]:
    """One Transform of as many frames as a batch has, each into memory of its own."""
    transform = tricodec.Transform(**options)
    with tricodec.FrameReader(job.path) as reader:
        frames = reader[:BATCH]
    out = np.empty((len(frames), *transform.output_shape(job.width, job.height)), options.get("dtype", "uint8"))

    def once() -> int:
        for frame, slot in zip(frames, out, strict=True):
            transform(frame, out=slot)
        return len(frames)

    return once


@contender("transform_rgb", "tricodec")
def transform_rgb(job: Job) -> Callable[[], int]:
    """Frames in memory to RGB."""
    return kernel(job)


@contender("transform_tensor", "tricodec")
def transform_tensor(job: Job) -> Callable[[], int]:
    """Frames in memory to 224x224 float32."""
    return kernel(job, **TENSOR)
