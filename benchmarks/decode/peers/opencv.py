# SPDX-License-Identifier: Apache-2.0
"""OpenCV's VideoCapture on its own FFmpeg. Its frames are BGR; RGB is a view with the channels turned round."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from benchmarks.decode.peers import SIZE, Job, batches, contender

_WORTH_A_SEEK = 30  # frames; below that, going on costs less than seeking


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {"opencv": cv2.__version__}


def _open(job: Job) -> cv2.VideoCapture:
    cv2.setNumThreads(job.threads)
    capture = cv2.VideoCapture(str(job.path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, job.threads])
    if not capture.isOpened():
        message = f"OpenCV cannot open {job.path}"
        raise RuntimeError(message)
    return capture


def _read(capture: cv2.VideoCapture, out: np.ndarray | None = None) -> np.ndarray | None:
    given, frame = capture.read(out)
    return frame[:, :, ::-1] if given else None


def _frames(job: Job) -> Iterator[np.ndarray]:
    capture = _open(job)
    while (frame := _read(capture)) is not None:
        yield frame


@contender("rgb", "opencv")
def rgb(job: Job) -> Iterator[np.ndarray]:
    """Each frame as a new array."""
    yield from _frames(job)


@contender("tensor_plain", "opencv")
def plain_tensors(job: Job) -> Iterator[np.ndarray]:
    """cv2.resize, not antialiased, before the channels are turned round."""
    size = (SIZE, SIZE)
    yield from batches(
        cv2.resize(frame[:, :, ::-1], size, interpolation=cv2.INTER_LINEAR)[:, :, ::-1] for frame in _frames(job)
    )


@contender("random", "opencv")
@contender("every8th", "opencv")
def some_frames(job: Job) -> Iterator[np.ndarray]:
    """Sets the position where the next frame is far, else grabs what lies between."""
    capture = _open(job)
    at = 0  # the frame that the next read gives
    for wanted in job.indices:
        if not 0 <= wanted - at < _WORTH_A_SEEK:
            capture.set(cv2.CAP_PROP_POS_FRAMES, wanted)
            at = wanted
        while at < wanted:
            capture.grab()
            at += 1
        frame = _read(capture)
        if frame is None:
            message = f"OpenCV gave no frame {wanted}"
            raise RuntimeError(message)
        yield frame
        at += 1


@contender("first", "opencv")
def first_frame(job: Job) -> Iterator[np.ndarray]:
    """One RGB frame."""
    frame = _read(_open(job))
    if frame is None:
        message = "OpenCV gave no frame"
        raise RuntimeError(message)
    yield frame
