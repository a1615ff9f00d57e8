# SPDX-License-Identifier: Apache-2.0
"""DALI's decoder on the CPU, which takes VP8, VP9 and MJPEG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from nvidia import dali
from nvidia.dali import fn, pipeline_def, types

from benchmarks.decode.peers import BATCH, MEAN, SIZE, STD, Job, contender


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {"nvidia-dali": dali.__version__}


def sequence_length(num_frames: int) -> int:
    """The longest of at most 16 frames of which the clip has a whole number.

    A padded last sequence costs as much as all others: 120 frames in sequences of 16 took 4.4 s of CPU, of 15 2.1 s.
    """
    return max(length for length in range(1, BATCH + 1) if num_frames % length == 0)


def _sequences(job: Job, length: int, *, small: bool = False) -> Iterator[np.ndarray]:
    @pipeline_def(batch_size=1, num_threads=job.threads, device_id=None)
    def pipeline() -> Any:
        frames = fn.experimental.readers.video(
            device="cpu",
            filenames=[str(job.path)],
            sequence_length=length,
            name="reader",
        )
        if small:
            frames = fn.resize(frames, size=(SIZE, SIZE), interp_type=types.INTERP_LINEAR, antialias=True)
            frames = fn.crop_mirror_normalize(
                frames, output_layout="FCHW", mean=(MEAN * 255).tolist(), std=(STD * 255).tolist()
            )
        return frames

    built = pipeline()
    built.build()
    for _ in range(job.num_frames // length):
        (output,) = built.run()
        yield output.at(0)


@contender("rgb", "dali-cpu")
def rgb(job: Job) -> Iterator[np.ndarray]:
    """Sequences of frames."""
    yield from _sequences(job, sequence_length(job.num_frames))


@contender("tensor_antialiased", "dali-cpu")
def tensors(job: Job) -> Iterator[np.ndarray]:
    """Sequences of frames, resized and normalized by DALI."""
    yield from _sequences(job, sequence_length(job.num_frames), small=True)


@contender("first", "dali-cpu")
def first_frame(job: Job) -> Iterator[np.ndarray]:
    """A sequence of one frame."""
    yield next(_sequences(job, 1))[0]
