# SPDX-License-Identifier: Apache-2.0
"""decord2's VideoReader; it converts and resizes with its own libswscale."""

from __future__ import annotations

from collections.abc import Iterator

import decord
import numpy as np

from benchmarks.decode.peers import SIZE, Job, Work, batches


def _open(job: Job, size: int = -1) -> decord.VideoReader:
    return decord.VideoReader(str(job.path), ctx=decord.cpu(0), num_threads=job.threads, width=size, height=size)


def _frames(job: Job, size: int = -1) -> Iterator[np.ndarray]:
    reader = _open(job, size)
    for _ in range(len(reader)):
        yield reader.next().asnumpy()


def _tensors(job: Job) -> Iterator[np.ndarray]:
    yield from batches(_frames(job, SIZE))


def _chosen(job: Job) -> Iterator[np.ndarray]:
    yield _open(job).get_batch(list(job.indices)).asnumpy()


def _first(job: Job) -> Iterator[np.ndarray]:
    yield _open(job).next().asnumpy()


WAYS: dict[str, dict[str, Work]] = {
    "decord2": {"rgb": _frames, "tensor_antialiased": _tensors, "random": _chosen, "every8th": _chosen, "first": _first}
}
