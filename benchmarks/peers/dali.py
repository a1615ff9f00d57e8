# SPDX-License-Identifier: Apache-2.0
"""DALI's decoder on the CPU, which takes VP8, VP9 and MJPEG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from nvidia import dali
from nvidia.dali import fn, pipeline_def, types

from peers import BATCH, MEAN, SIZE, STD, Job, contender


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {"nvidia-dali": dali.__version__}


def _sequences(job: Job, length: int, *, small: bool = False, step: int = 1) -> Iterator[np.ndarray]:
    @pipeline_def(batch_size=1, num_threads=job.threads, device_id=None)
    def pipeline() -> Any:
        frames = fn.experimental.readers.video(
            device="cpu",
            filenames=[str(job.path)],
            sequence_length=length,
            stride=step,
            pad_mode="edge",
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
    given = 0
    total = -(-job.num_frames // step)
    while given < total:
        (output,) = built.run()
        sequence = output.at(0)[: total - given]
        given += len(sequence)
        yield sequence


@contender("rgb", "dali-cpu")
def rgb(job: Job) -> Iterator[np.ndarray]:
    """Sequences of 16 frames."""
    yield from _sequences(job, BATCH)


@contender("tensor_antialiased", "dali-cpu")
def tensors(job: Job) -> Iterator[np.ndarray]:
    """Sequences of 16 frames, resized and normalized by DALI."""
    yield from _sequences(job, BATCH, small=True)


@contender("first", "dali-cpu")
def first_frame(job: Job) -> Iterator[np.ndarray]:
    """A sequence of one frame."""
    yield next(_sequences(job, 1))[0]
