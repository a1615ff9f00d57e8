# SPDX-License-Identifier: Apache-2.0
"""PyAV's decoding with OpenCV's kernels for what follows."""

from __future__ import annotations

from collections.abc import Iterator

import av
import cv2
import numpy as np

from benchmarks.decode.peers import SIZE, Job, Work, batches
from benchmarks.decode.peers.pyav import decoded


def _to_rgb(frame: av.VideoFrame, out: np.ndarray | None = None) -> np.ndarray:
    return cv2.cvtColor(frame.to_ndarray(format="yuv420p"), cv2.COLOR_YUV2RGB_I420, dst=out)


def _small(frame: av.VideoFrame) -> np.ndarray:
    """Each plane resized by itself, then the small picture converted: the cheapest order there is."""
    small = np.empty((SIZE * 3 // 2, SIZE), np.uint8)
    half = SIZE // 2
    u, v = small[SIZE:].reshape(2, half, half)
    for plane, target in zip(frame.planes, (small[:SIZE], u, v), strict=True):
        samples = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]
        cv2.resize(samples, target.shape[::-1], dst=target, interpolation=cv2.INTER_LINEAR)
    return cv2.cvtColor(small, cv2.COLOR_YUV2RGB_I420)


def _rgb(job: Job) -> Iterator[np.ndarray]:
    """The planes copied together, then cv2.cvtColor into one of a few arrays."""
    cv2.setNumThreads(job.threads)
    out = np.empty((4, job.height, job.width, 3), np.uint8)
    for number, frame in enumerate(decoded(job)):
        yield _to_rgb(frame, out[number % len(out)])


def _plain_tensors(job: Job) -> Iterator[np.ndarray]:
    """The whole picture to RGB, then cv2.resize."""
    cv2.setNumThreads(job.threads)
    yield from batches(cv2.resize(_to_rgb(frame), (SIZE, SIZE)) for frame in decoded(job))


def _plain_tensors_from_planes(job: Job) -> Iterator[np.ndarray]:
    cv2.setNumThreads(job.threads)
    yield from batches(_small(frame) for frame in decoded(job))


WAYS: dict[str, dict[str, Work]] = {
    "pyav+cv2": {"rgb": _rgb, "tensor_plain": _plain_tensors},
    "pyav+cv2planes": {"tensor_plain": _plain_tensors_from_planes},
}
