# SPDX-License-Identifier: Apache-2.0
"""decord.video_loader: batches of several videos."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tricodec_compat.decord.base import DECORDError
from tricodec_compat.decord.bridge import bridge_out
from tricodec_compat.decord.ndarray import DECORDContext, NDArray
from tricodec_compat.decord.video_reader import VideoReader

__all__ = ["VideoLoader"]


class VideoLoader:
    """Batches of frames of several videos, each batch of one video.

    Args:
        uris: paths.
        ctx: cpu() or gpu(), or a list of contexts, which are used in turn.
        shape: (frames of a batch, height, width, 3).
        interval: frames between the frames of a batch.
        skip: frames between batches.
        shuffle: 0 keeps the order, 1 takes the files in a random order, 2 the batches.
        prefetch: taken and ignored: frames of a batch are decoded on all cores.

    Raises:
        AssertionError: for arguments of another kind.
        DECORDError: for another `shuffle`, or videos that give no batch.
    """

    def __init__(
        self,
        uris: Sequence[str],
        ctx: DECORDContext | Sequence[DECORDContext],
        shape: Sequence[int],
        interval: int,
        skip: int,
        shuffle: int,
        prefetch: int = 0,
    ) -> None:
        assert isinstance(uris, (list, tuple)), f"uris must be a list of paths, not {uris!r}"
        assert len(uris) > 0, "uris is empty"
        contexts = [ctx] if isinstance(ctx, DECORDContext) else list(ctx)
        assert all(isinstance(each, DECORDContext) for each in contexts), "ctx must hold contexts"
        assert isinstance(shape, (list, tuple)), f"shape must be a tuple, not {shape!r}"
        assert len(shape) == 4, f"expected shape: [bs, height, width, 3], given {shape}"
        if shuffle not in (0, 1, 2):
            raise DECORDError(f"shuffle {shuffle} is not known; accepted are 0, 1 and 2")
        if interval < 0 or skip < 0 or shape[3] != 3:
            raise DECORDError(f"interval {interval} and skip {skip} must be at least 0, and the last of shape be 3")
        self._shuffle = shuffle
        self._readers = [
            VideoReader(uri.strip(), contexts[i % len(contexts)], width=shape[2], height=shape[1])
            for i, uri in enumerate(uris)
        ]
        step = interval + 1
        span = (shape[0] - 1) * step + 1
        distance = span + skip
        self._batches = [
            (video, list(range(start, start + span, step)))
            for video, reader in enumerate(self._readers)
            for start in range(0, len(reader) - span + 1, distance)
        ]
        if not self._batches:
            raise DECORDError(f"no video has the {span} frames of a batch")
        self.reset()

    def __len__(self) -> int:
        """Batches of an epoch."""
        return len(self._batches)

    def reset(self) -> None:
        """Begin the next epoch."""
        order = list(range(len(self._batches)))
        if self._shuffle == 1:
            videos = list(range(len(self._readers)))
            random.shuffle(videos)
            order.sort(key=lambda i: videos[self._batches[i][0]])
        elif self._shuffle == 2:
            random.shuffle(order)
        self._order = order
        self._curr = 0

    def __next__(self) -> tuple[Any, Any]:
        """A batch [frames, H, W, 3] and the (video, frame) of each of its frames, [frames, 2].

        Raises:
            StopIteration: at the end of the epoch.
        """
        if self._curr >= len(self._order):
            raise StopIteration
        video, frames = self._batches[self._order[self._curr]]
        self._curr += 1
        places = np.array([[video, frame] for frame in frames], dtype=np.int64)
        return self._readers[video].get_batch(frames), bridge_out(NDArray(places))

    def next(self) -> tuple[Any, Any]:
        """The same as ``next(loader)``."""
        return self.__next__()

    def __iter__(self) -> VideoLoader:
        return self


VideoLoader.__module__ = "tricodec_compat.decord"
