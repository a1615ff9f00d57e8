# SPDX-License-Identifier: Apache-2.0
"""PyAV with frame threads (thread_type AUTO) and, where pictures are converted, its libswscale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import av
import numpy as np

from benchmarks.decode.peers import SIZE, Job, Work, batches

_PREROLL = 1  # seconds between wanted frames from which a seek pays


def decoded(job: Job) -> Iterator[av.VideoFrame]:
    """Every frame."""
    with av.open(str(job.path)) as container:
        yield from container.decode(_stream(container, job))


def _stream(container: Any, job: Job) -> Any:
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    stream.codec_context.thread_count = job.threads
    return stream


def _converted(pixel_format: str) -> Work:
    """Each frame as one new array."""
    return lambda job: (frame.to_ndarray(format=pixel_format) for frame in decoded(job))


def _views(job: Job) -> Iterator[Any]:
    """The three planes of each frame as arrays over the decoder's memory."""
    for frame in decoded(job):
        yield tuple(
            np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]
            for plane in frame.planes
        )


def _tensors(job: Job) -> Iterator[np.ndarray]:
    """Converted and resized in one pass by libswscale, which averages over the area when it shrinks."""
    yield from batches(
        frame.to_ndarray(width=SIZE, height=SIZE, format="rgb24", interpolation="BILINEAR") for frame in decoded(job)
    )


def _random(job: Job) -> Iterator[np.ndarray]:
    """Seeks to the key frame before each wanted frame unless the walk is just before it."""
    with av.open(str(job.path)) as container:
        stream = _stream(container, job)
        rate, base, start = stream.average_rate, stream.time_base, stream.start_time or 0
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


def _every_eighth(job: Job) -> Iterator[np.ndarray]:
    """Decodes all, converts what is wanted."""
    for number, frame in enumerate(decoded(job)):
        if number % 8 == 0:
            yield frame.to_ndarray(format="rgb24")


def _first(job: Job) -> Iterator[np.ndarray]:
    frames = decoded(job)
    yield next(frames).to_ndarray(format="rgb24")
    frames.close()


WAYS: dict[str, dict[str, Work]] = {
    "pyav": {
        "yuv420p": _converted("yuv420p"),
        "nv12": _converted("nv12"),
        "rgb": _converted("rgb24"),
        "tensor_antialiased": _tensors,
        "random": _random,
        "every8th": _every_eighth,
        "first": _first,
    },
    "pyav-views": {"yuv420p": _views},
}
