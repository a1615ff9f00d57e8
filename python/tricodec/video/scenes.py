# SPDX-License-Identifier: Apache-2.0
"""Where a video cuts to another shot: from the colors of small frames, in whole numbers.

    from tricodec.video.scenes import scene_cuts

    cuts = scene_cuts("a.mp4")
    print(cuts.frames, cuts.seconds)

The same frames give the same cuts on every machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import FrameReader
from tricodec.arrays import asnumpy

if TYPE_CHECKING:
    from tricodec._tricodec import Source

__all__ = ["SceneCuts", "scene_cuts"]

#: In clips of films and animation it finds the cuts that ffmpeg finds by ``select=gt(scene,0.3)``, and softer ones; a
#: fade within few frames counts too.
_THRESHOLD = 0.22
_BITS = 3
_CHUNK = 128


@dataclasses.dataclass(frozen=True, eq=False)
class SceneCuts:
    """What `scene_cuts` found."""

    frames: npt.NDArray[np.int64]
    """Numbers of the first frames of new shots, int64 [N]. The first frame of the video is none."""
    seconds: npt.NDArray[np.float64]
    """Times of those frames in seconds, float64 [N]."""
    scores: npt.NDArray[np.float32]
    """The score of each cut, float32 [N]."""
    num_frames: int
    """Frames that were looked at: all of the video."""
    num_damaged_packets: int
    """Packets that could not be decoded completely."""


def scene_cuts(
    source: Source | FrameReader,
    *,
    threshold: float = _THRESHOLD,
    size: Sequence[int] = (72, 128),
    device: str = "auto",
    num_workers: int = 0,
    on_progress: Callable[[int, int], object] | None = None,
) -> SceneCuts:
    """Find the frames at which a video cuts to another shot.

    A frame begins a shot if at least `threshold` of its pixels have another color than in the frame before, counted by
    a histogram. Slow fades and pans have no such frame.

    Args:
        source: as in `decode_video`.
        threshold: the part of the pixels that must change, from 0 to 1.
        size: (height, width) in pixels at which frames are compared.
        device, num_workers: as in `FrameReader`.
        on_progress: is called with the number of frames that are done, and of all.

    Raises:
        ValueError: the threshold is not accepted.
        Error: the errors of `FrameReader`.

    Thread safety: safe. An open FrameReader takes one call at a time.
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"the threshold is {threshold}; accepted are 0 to 1, the part of the pixels that must change")
    if not isinstance(source, FrameReader):
        with FrameReader(source, device=device, num_workers=num_workers) as reader:
            return scene_cuts(reader, threshold=threshold, size=size, on_progress=on_progress)
    frames: list[int] = []
    scores: list[float] = []
    before: npt.NDArray[np.int64] | None = None
    done = 0
    for batch in source.batches(_CHUNK, size=tuple(size), color="rgb"):
        counts = _histograms(asnumpy(batch))
        found = _scores(counts if before is None else np.concatenate([before, counts]))
        found = found if before is None else found[1:]
        for number in np.flatnonzero(found >= threshold):
            if done + number > 0:
                frames.append(done + int(number))
                scores.append(float(found[number]))
        before, done = counts[-1:], done + len(counts)
        if on_progress is not None:
            on_progress(done, len(source))
    cuts, damaged = np.array(frames, np.int64), source.num_damaged_packets
    return SceneCuts(cuts, source.pts_seconds[cuts], np.array(scores, np.float32), done, damaged)


def _histograms(frames: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """How many pixels of each frame [F, H, W, 3] are of which color, int64 [F, 512]: eight ranges of each channel."""
    counts = np.empty((len(frames), 1 << 3 * _BITS), np.int64)
    for index, frame in enumerate(frames):
        ranges = (frame >> (8 - _BITS)).astype(np.uint16)
        bins = ranges[..., 0] << (2 * _BITS) | ranges[..., 1] << _BITS | ranges[..., 2]
        counts[index] = np.bincount(bins.reshape(-1), minlength=counts.shape[1])
    return counts


def _scores(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """By which part of its pixels each frame's histogram differs from that of the frame before; 0 for the first."""
    scores = np.zeros(len(counts), np.float64)
    # A pixel that changes its bin counts twice: where it was, and where it is.
    scores[1:] = np.abs(np.diff(counts, axis=0)).sum(axis=1) / (2 * counts[1:].sum(axis=1))
    return scores.astype(np.float32)
