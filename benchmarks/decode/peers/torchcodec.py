# SPDX-License-Identifier: Apache-2.0
"""torchcodec's VideoDecoder on the FFmpeg libraries that peer_libraries.py gives it, else on the system's."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

import torch
from torchcodec._core.ops import get_ffmpeg_library_versions  # the public name tells the major version alone
from torchcodec.decoders import VideoDecoder
from torchcodec.transforms import Resize

from benchmarks.decode.peers import BATCH, BIAS, SCALE, SIZE, Job, contender


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {
        "torchcodec": importlib.metadata.version("torchcodec"),
        "torch": torch.__version__,
        "ffmpeg": str(get_ffmpeg_library_versions()["ffmpeg_version"]),
    }


def _open(job: Job, order: str = "NHWC", mode: str = "exact", **options: object) -> VideoDecoder:
    torch.set_num_threads(job.threads)
    return VideoDecoder(str(job.path), dimension_order=order, seek_mode=mode, num_ffmpeg_threads=job.threads, **options)


@contender("rgb", "torchcodec")
def rgb(job: Job) -> Iterator[torch.Tensor]:
    """16 frames a call."""
    decoder = _open(job, mode="approximate")
    for start in range(0, job.num_frames, BATCH):
        yield decoder.get_frames_in_range(start, min(start + BATCH, job.num_frames)).data


@contender("tensor_antialiased", "torchcodec")
def tensors(job: Job) -> Iterator[torch.Tensor]:
    """Its own Resize while it decodes, then torch."""
    decoder = _open(job, "NCHW", "approximate", transforms=[Resize((SIZE, SIZE))])
    scale, bias = torch.from_numpy(SCALE), torch.from_numpy(BIAS)
    for start in range(0, job.num_frames, BATCH):
        frames = decoder.get_frames_in_range(start, min(start + BATCH, job.num_frames)).data
        yield torch.addcmul(bias, frames.to(torch.float32), scale)


def _some_frames(job: Job, mode: str) -> Iterator[torch.Tensor]:
    yield _open(job, mode=mode).get_frames_at(list(job.indices)).data


@contender("random", "torchcodec")
@contender("every8th", "torchcodec")
def some_frames(job: Job) -> Iterator[torch.Tensor]:
    """One call for all; the file is scanned first."""
    yield from _some_frames(job, "exact")


@contender("random", "torchcodec-approximate")
@contender("every8th", "torchcodec-approximate")
def some_frames_unscanned(job: Job) -> Iterator[torch.Tensor]:
    """One call for all; frame numbers are taken from the frame rate."""
    yield from _some_frames(job, "approximate")


@contender("first", "torchcodec")
def first_frame(job: Job) -> Iterator[torch.Tensor]:
    """One RGB frame, without a scan of the file."""
    yield _open(job, mode="approximate")[0]
