# SPDX-License-Identifier: Apache-2.0
"""torchcodec's VideoDecoder, on the FFmpeg libraries that the linker finds (LD_LIBRARY_PATH)."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch
from torchcodec.decoders import VideoDecoder
from torchcodec.transforms import Resize

from benchmarks.decode.peers import BATCH, BIAS, SCALE, SIZE, Job, Work


def _open(job: Job, order: str = "NHWC", mode: str = "exact", **options: object) -> VideoDecoder:
    torch.set_num_threads(job.threads)
    return VideoDecoder(str(job.path), dimension_order=order, seek_mode=mode, num_ffmpeg_threads=job.threads, **options)


def _ranges(decoder: VideoDecoder, num_frames: int) -> Iterator[torch.Tensor]:
    """16 frames a call."""
    for start in range(0, num_frames, BATCH):
        yield decoder.get_frames_in_range(start, min(start + BATCH, num_frames)).data


def _rgb(job: Job) -> Iterator[torch.Tensor]:
    yield from _ranges(_open(job, mode="approximate"), job.num_frames)


def _tensors(job: Job) -> Iterator[torch.Tensor]:
    """Its own Resize while it decodes, then torch."""
    scale, bias = torch.from_numpy(SCALE), torch.from_numpy(BIAS)
    for frames in _ranges(_open(job, "NCHW", "approximate", transforms=[Resize((SIZE, SIZE))]), job.num_frames):
        yield torch.addcmul(bias, frames.to(torch.float32), scale)


def _chosen(job: Job, mode: str) -> Iterator[torch.Tensor]:
    """One call for all. The mode "exact" scans the file first, "approximate" calculates from the frame rate."""
    yield _open(job, mode=mode).get_frames_at(list(job.indices)).data


def _first(job: Job) -> Iterator[torch.Tensor]:
    yield _open(job, mode="approximate")[0]


_exact, _approximate = (functools.partial(_chosen, mode=mode) for mode in ("exact", "approximate"))
WAYS: dict[str, dict[str, Work]] = {
    "torchcodec": {"rgb": _rgb, "tensor_antialiased": _tensors, "random": _exact, "every8th": _exact, "first": _first},
    "torchcodec-approximate": {"random": _approximate, "every8th": _approximate},
}
