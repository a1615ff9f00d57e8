# SPDX-License-Identifier: Apache-2.0
"""OpenCV's VideoCapture on its own FFmpeg. Its frames are BGR; RGB is a view with the channels turned round."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from benchmarks.decode.peers import SIZE, Job, Work, batches

_WORTH_A_SEEK = 30  # frames; below that, going on costs less than seeking


def _open(job: Job) -> cv2.VideoCapture:
    cv2.setNumThreads(job.threads)
    capture = cv2.VideoCapture(str(job.path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, job.threads])
    if not capture.isOpened():
        message = f"OpenCV cannot open {job.path}"
        raise RuntimeError(message)
    return capture


def _frames(job: Job) -> Iterator[np.ndarray]:
    capture = _open(job)
    while True:
        given, frame = capture.read()
        if not given:
            return
        yield frame[:, :, ::-1]


def _plain_tensors(job: Job) -> Iterator[np.ndarray]:
    """cv2.resize, not antialiased, before the channels are turned round."""
    yield from batches(cv2.resize(frame[:, :, ::-1], (SIZE, SIZE))[:, :, ::-1] for frame in _frames(job))


def _chosen(job: Job) -> Iterator[np.ndarray]:
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
        given, frame = capture.read()
        at += 1
        if given:
            yield frame[:, :, ::-1]


def _first(job: Job) -> Iterator[np.ndarray]:
    yield next(_frames(job))


WAYS: dict[str, dict[str, Work]] = {
    "opencv": {"rgb": _frames, "tensor_plain": _plain_tensors, "random": _chosen, "every8th": _chosen, "first": _first}
}
