# SPDX-License-Identifier: Apache-2.0
"""PyAV with frame threads (thread_type AUTO) and, where pictures are converted, its libswscale."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import av
import numpy as np

from benchmarks.decode.peers import BATCH, SIZE, Job, batches, contender, normalized

_PREROLL = 1  # seconds; how far a walk may skip ahead before a seek pays is the container's own business


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {"av": av.__version__, "libavcodec": ".".join(map(str, av.library_versions["libavcodec"]))}


def decoded(job: Job) -> Iterator[av.VideoFrame]:
    """Every frame."""
    with av.open(str(job.path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = job.threads
        yield from container.decode(stream)


@contender("yuv420p", "pyav")
def packed_planes(job: Job) -> Iterator[np.ndarray]:
    """Each frame as one new array."""
    for frame in decoded(job):
        yield frame.to_ndarray(format="yuv420p")


@contender("yuv420p", "pyav-views")
def planes(job: Job) -> Iterator[Any]:
    """The three planes of each frame as arrays over the decoder's memory."""
    for frame in decoded(job):
        yield tuple(
            np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]
            for plane in frame.planes
        )


@contender("nv12", "pyav")
def nv12(job: Job) -> Iterator[np.ndarray]:
    """Each frame as one array [H * 3 / 2, W]."""
    for frame in decoded(job):
        yield frame.to_ndarray(format="nv12")


@contender("rgb", "pyav")
def rgb(job: Job) -> Iterator[np.ndarray]:
    """Each frame as a new array."""
    for frame in decoded(job):
        yield frame.to_ndarray(format="rgb24")


@contender("tensor_antialiased", "pyav")
def tensors(job: Job) -> Iterator[np.ndarray]:
    """Converted and resized in one pass by libswscale, which averages over the area when it shrinks."""
    yield from batches(small(frame) for frame in decoded(job))


def small(frame: av.VideoFrame) -> np.ndarray:
    """224x224 RGB."""
    return frame.to_ndarray(width=SIZE, height=SIZE, format="rgb24", interpolation="BILINEAR")


@contender("random", "pyav")
def random_frames(job: Job) -> Iterator[np.ndarray]:
    """Seeks to the key frame before each wanted frame unless the walk is already past it."""
    with av.open(str(job.path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = job.threads
        rate, base = stream.average_rate, stream.time_base
        start = stream.start_time or 0
        frames = container.decode(stream)
        at = -1  # the frame that the walk gave last
        for wanted in job.indices:
            if at < 0 or wanted - at > float(rate * _PREROLL):
                container.seek(round(wanted / rate / base) + start, stream=stream)
                frames = container.decode(stream)
            for frame in frames:
                at = round((frame.pts - start) * base * rate)
                if at >= wanted:
                    yield frame.to_ndarray(format="rgb24")
                    break


@contender("every8th", "pyav")
def every_eighth(job: Job) -> Iterator[np.ndarray]:
    """Decodes all, converts what is wanted."""
    for number, frame in enumerate(decoded(job)):
        if number % 8 == 0:
            yield frame.to_ndarray(format="rgb24")


@contender("first", "pyav")
def first_frame(job: Job) -> Iterator[np.ndarray]:
    """One RGB frame."""
    frames = decoded(job)
    yield next(frames).to_ndarray(format="rgb24")
    frames.close()


def first_frames(job: Job) -> list[av.VideoFrame]:
    """As many as a batch has."""
    return [frame for frame, _ in zip(decoded(job), range(BATCH), strict=False)]


@contender("transform_rgb", "pyav")
def transform_rgb(job: Job) -> Callable[[], int]:
    """libswscale's bilinear conversion, without the copy to an array."""
    frames = first_frames(job)
    reformatter = av.video.reformatter.VideoReformatter()

    def once() -> int:
        for frame in frames:
            reformatter.reformat(frame, format="rgb24", interpolation="BILINEAR")
        return len(frames)

    return once


@contender("transform_tensor", "pyav")
def transform_tensor(job: Job) -> Callable[[], int]:
    """libswscale and numpy."""
    frames = first_frames(job)
    batch = np.empty((len(frames), 3, SIZE, SIZE), np.float32)

    def once() -> int:
        for frame, slot in zip(frames, batch, strict=True):
            normalized(small(frame), slot)
        return len(frames)

    return once
