# SPDX-License-Identifier: Apache-2.0
"""The ffmpeg command line through a pipe: the system's, and the one that imageio-ffmpeg brings through its reader."""

from __future__ import annotations

import importlib.metadata
import subprocess
from collections.abc import Iterator

import imageio_ffmpeg
import numpy as np

from benchmarks.decode.peers import SIZE, Job, batches, contender

_SMALL = f"scale={SIZE}:{SIZE}:flags=bilinear"
_PIPE_BYTES = 1 << 20  # what Linux lets a process ask for without privileges


def versions() -> dict[str, str]:
    """Of what does the work."""
    first_line = subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True, text=True).stdout.splitlines()[
        0
    ]
    return {
        "imageio-ffmpeg": importlib.metadata.version("imageio-ffmpeg"),
        "imageio-ffmpeg's ffmpeg": imageio_ffmpeg.get_ffmpeg_version(),
        "ffmpeg": first_line.split()[2],
    }


def _pipe(job: Job, pix_fmt: str, frame_bytes: int, *options: str) -> Iterator[np.ndarray]:
    command = ["ffmpeg", "-nostdin", "-v", "error", "-threads", str(job.threads), "-i", str(job.path)]
    command += ["-map", "0:v:0", "-fps_mode", "passthrough", *options, "-f", "rawvideo", "-pix_fmt", pix_fmt, "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0, pipesize=_PIPE_BYTES) as process:
        assert process.stdout is not None
        while True:
            frame = np.empty(frame_bytes, np.uint8)
            view = memoryview(frame)
            filled = 0
            while filled < frame_bytes and (got := process.stdout.readinto(view[filled:])):
                filled += got
            if filled < frame_bytes:
                break
            yield frame
    if process.returncode != 0:
        message = f"ffmpeg ended with {process.returncode} on {job.path}"
        raise RuntimeError(message)


def _imageio(job: Job, pix_fmt: str, bits: int, *options: str) -> Iterator[np.ndarray]:
    frames = imageio_ffmpeg.read_frames(
        str(job.path),
        pix_fmt=pix_fmt,
        bits_per_pixel=bits,
        input_params=["-threads", str(job.threads)],
        output_params=["-fps_mode", "passthrough", *options],
    )
    next(frames)  # facts of the stream
    for frame in frames:
        yield np.frombuffer(frame, np.uint8)


@contender("yuv420p", "ffmpeg-pipe")
def planes_by_pipe(job: Job) -> Iterator[np.ndarray]:
    """Packed planes."""
    yield from _pipe(job, "yuv420p", job.width * job.height * 3 // 2)


@contender("nv12", "ffmpeg-pipe")
def nv12_by_pipe(job: Job) -> Iterator[np.ndarray]:
    """Packed planes."""
    yield from _pipe(job, "nv12", job.width * job.height * 3 // 2)


@contender("rgb", "ffmpeg-pipe")
def rgb_by_pipe(job: Job) -> Iterator[np.ndarray]:
    """Converted by ffmpeg."""
    for frame in _pipe(job, "rgb24", job.width * job.height * 3):
        yield frame.reshape(job.height, job.width, 3)


@contender("tensor_antialiased", "ffmpeg-pipe")
def tensors_by_pipe(job: Job) -> Iterator[np.ndarray]:
    """Converted and resized by ffmpeg, then numpy."""
    pictures = _pipe(job, "rgb24", SIZE * SIZE * 3, "-vf", _SMALL)
    yield from batches(picture.reshape(SIZE, SIZE, 3) for picture in pictures)


@contender("yuv420p", "imageio-ffmpeg")
def planes_by_imageio(job: Job) -> Iterator[np.ndarray]:
    """Packed planes."""
    yield from _imageio(job, "yuv420p", 12)


@contender("nv12", "imageio-ffmpeg")
def nv12_by_imageio(job: Job) -> Iterator[np.ndarray]:
    """Packed planes."""
    yield from _imageio(job, "nv12", 12)


@contender("rgb", "imageio-ffmpeg")
def rgb_by_imageio(job: Job) -> Iterator[np.ndarray]:
    """Converted by ffmpeg."""
    for frame in _imageio(job, "rgb24", 24):
        yield frame.reshape(job.height, job.width, 3)


@contender("tensor_antialiased", "imageio-ffmpeg")
def tensors_by_imageio(job: Job) -> Iterator[np.ndarray]:
    """Converted and resized by ffmpeg, then numpy."""
    pictures = _imageio(job, "rgb24", 24, "-vf", _SMALL)
    yield from batches(picture.reshape(SIZE, SIZE, 3) for picture in pictures)


@contender("yuv420p", "ffmpeg-null")
def decoded_only(job: Job) -> Iterator[None]:
    """Nothing reaches Python: what decoding alone costs, a limit rather than a peer."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-threads", str(job.threads), "-i", str(job.path)]
    subprocess.run([*command, "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "null", "-"], check=True)
    yield from [None] * job.num_frames
