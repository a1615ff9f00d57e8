# SPDX-License-Identifier: Apache-2.0
"""PyAV's decoding with OpenCV's kernels for what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import av
import cv2
import numpy as np

from benchmarks.decode.peers import SIZE, Job, batches, contender, normalized
from benchmarks.decode.peers.pyav import decoded, first_frames


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {"av": av.__version__, "opencv": cv2.__version__}


def _to_rgb(frame: av.VideoFrame, out: np.ndarray | None = None) -> np.ndarray:
    return cv2.cvtColor(frame.to_ndarray(format="yuv420p"), cv2.COLOR_YUV2RGB_I420, dst=out)


def _small_from_planes(frame: av.VideoFrame, interpolation: int) -> np.ndarray:
    """Each plane resized by itself, then the small picture converted: the cheapest order there is."""
    small = np.empty((SIZE * 3 // 2, SIZE), np.uint8)
    half = SIZE // 2
    targets = (
        small[:SIZE],
        small[SIZE : SIZE + half // 2].reshape(half, half),
        small[SIZE + half // 2 :].reshape(half, half),
    )
    for plane, target in zip(frame.planes, targets, strict=True):
        samples = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]
        cv2.resize(samples, target.shape[::-1], dst=target, interpolation=interpolation)
    return cv2.cvtColor(small, cv2.COLOR_YUV2RGB_I420)


@contender("rgb", "pyav+cv2")
def rgb(job: Job) -> Iterator[np.ndarray]:
    """The planes copied together, then cv2.cvtColor into one of a few arrays."""
    cv2.setNumThreads(job.threads)
    out = np.empty((4, job.height, job.width, 3), np.uint8)
    for number, frame in enumerate(decoded(job)):
        yield _to_rgb(frame, out[number % len(out)])


@contender("tensor_plain", "pyav+cv2")
def plain_tensors(job: Job) -> Iterator[np.ndarray]:
    """The whole picture to RGB, then cv2.resize."""
    cv2.setNumThreads(job.threads)
    size = (SIZE, SIZE)
    yield from batches(cv2.resize(_to_rgb(f), size, interpolation=cv2.INTER_LINEAR) for f in decoded(job))


@contender("tensor_plain", "pyav+cv2planes")
def plain_tensors_from_planes(job: Job) -> Iterator[np.ndarray]:
    """cv2.resize on the planes, not antialiased."""
    cv2.setNumThreads(job.threads)
    yield from batches(_small_from_planes(frame, cv2.INTER_LINEAR) for frame in decoded(job))


@contender("tensor_antialiased", "pyav+cv2area")
def tensors_from_planes(job: Job) -> Iterator[np.ndarray]:
    """cv2.resize on the planes with INTER_AREA, a box filter."""
    cv2.setNumThreads(job.threads)
    yield from batches(_small_from_planes(frame, cv2.INTER_AREA) for frame in decoded(job))


@contender("transform_rgb", "cv2")
def transform_rgb(job: Job) -> Callable[[], int]:
    """cv2.cvtColor from planes that already lie one after another."""
    cv2.setNumThreads(1)
    pictures = [frame.to_ndarray(format="yuv420p") for frame in first_frames(job)]
    out = np.empty((len(pictures), job.height, job.width, 3), np.uint8)

    def once() -> int:
        for picture, slot in zip(pictures, out, strict=True):
            cv2.cvtColor(picture, cv2.COLOR_YUV2RGB_I420, dst=slot)
        return len(pictures)

    return once


@contender("transform_tensor", "cv2")
def transform_tensor(job: Job) -> Callable[[], int]:
    """cv2.resize on the planes with INTER_AREA, cv2.cvtColor, numpy."""
    cv2.setNumThreads(1)
    frames = first_frames(job)
    batch = np.empty((len(frames), 3, SIZE, SIZE), np.float32)

    def once() -> int:
        for frame, slot in zip(frames, batch, strict=True):
            normalized(_small_from_planes(frame, cv2.INTER_AREA), slot)
        return len(frames)

    return once
