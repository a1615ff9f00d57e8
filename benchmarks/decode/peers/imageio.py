# SPDX-License-Identifier: Apache-2.0
"""The ffmpeg that imageio-ffmpeg brings, through its reader: it converts and resizes before the pipe."""

from __future__ import annotations

from collections.abc import Iterator

import imageio_ffmpeg
import numpy as np

from benchmarks.decode.peers import SIZE, Job, Work, batches


def _frames(job: Job, pixel_format: str, bits: int, *options: str) -> Iterator[np.ndarray]:
    frames = imageio_ffmpeg.read_frames(
        str(job.path), pix_fmt=pixel_format, bits_per_pixel=bits, input_params=["-threads", str(job.threads)],
        output_params=["-fps_mode", "passthrough", *options],
    )  # fmt: skip
    next(frames)  # facts of the stream
    for frame in frames:
        yield np.frombuffer(frame, np.uint8)


def _rgb(job: Job) -> Iterator[np.ndarray]:
    for frame in _frames(job, "rgb24", 24):
        yield frame.reshape(job.height, job.width, 3)


def _tensors(job: Job) -> Iterator[np.ndarray]:
    pictures = _frames(job, "rgb24", 24, "-vf", f"scale={SIZE}:{SIZE}:flags=bilinear")
    yield from batches(picture.reshape(SIZE, SIZE, 3) for picture in pictures)


WAYS: dict[str, dict[str, Work]] = {
    "imageio-ffmpeg": {
        "yuv420p": lambda job: _frames(job, "yuv420p", 12),
        "nv12": lambda job: _frames(job, "nv12", 12),
        "rgb": _rgb,
        "tensor_antialiased": _tensors,
    }
}
