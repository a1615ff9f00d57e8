# SPDX-License-Identifier: Apache-2.0
"""ClipBatches: the batches of a rank, read ahead, with a place that can be saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tricodec.data._clip_reader import DamagedClip
from tricodec.data._clips import Dataset
from tricodec.data._read_ahead import HostMemory, ReadAhead
from tricodec.data._sampler import ClipSampler
from tricodec.video.cores import num_cores

READ_AHEAD_BYTES = 256 << 20
_MOST_SKIPPED = 10_000


class ClipBatches:
    """The batches of a rank with their frames, read ahead by threads.

        clips = tricodec.data.Dataset("videos.parquet", clip_length=16, size=(224, 224))
        batches = tricodec.data.ClipBatches(clips, 8, seed=1)
        for batch in batches:
            print(batch["frames"].shape)  # [8, 16, 224, 224, 3]
            state = batches.state_dict()

    One iteration is what is left of an epoch; the next one is the next epoch. An iteration that was left early is
    continued by the next one. Several videos are read at once, ahead of the program.

    Thread safety: one thread at a time.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        rank: int = 0,
        num_ranks: int = 1,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        read_ahead_bytes: int = READ_AHEAD_BYTES,
        num_threads: int = 0,
    ) -> None:
        """Starts at epoch 0.

        Args:
            dataset: the clips.
            batch_size, rank, num_ranks, shuffle, seed, drop_last: as in `ClipSampler`.
            read_ahead_bytes: bound of the memory of the frames that are read ahead. Clips of it that need the same
                group of pictures are decoded together. The next batch is read whatever it takes.
            num_threads: videos read at once; 0 is the number of cores.

        Raises:
            ValueError: an argument is not accepted.
        """
        if read_ahead_bytes < 0 or num_threads < 0:
            raise ValueError(
                f"read_ahead_bytes is {read_ahead_bytes} and num_threads is {num_threads}; expected 0 or more"
            )
        self._dataset = dataset
        self._sampler = ClipSampler(
            dataset, batch_size, rank=rank, num_ranks=num_ranks, shuffle=shuffle, seed=seed, drop_last=drop_last
        )  # fmt: skip
        self._max_bytes = read_ahead_bytes
        self._num_threads = num_threads
        self._num_given = 0
        self._memory = HostMemory(dataset)
        self.skipped: list[DamagedClip] = []
        """Clips that ``on_damage="skip"`` left out so far, the first 10,000."""

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return int(self.state_dict()["epoch"])

    def __len__(self) -> int:
        """Batches that are left in the epoch."""
        self.load_state_dict(self.state_dict())
        return len(self._sampler)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Batches: what a clip has, each as an array with one element a clip.

        ``frames`` is [N, F, H, W, C] or as the layout says; a list if clips have several shapes or a GPU decoded them.
        ``pts_seconds`` is float64 [N, F], ``video``, ``start`` and ``clip`` are int64 [N]. With ``on_damage="skip"``
        there is ``skipped`` too, a list of DamagedClip: the batch is shorter by these, and may be empty.
        """
        self.load_state_dict(self.state_dict())  # the sampler goes back to the first batch that was not given out
        num_threads = self._num_threads or num_cores()
        ahead = ReadAhead(
            self._dataset, self._memory, iter(self._sampler), num_threads=num_threads, max_bytes=self._max_bytes
        )
        try:
            for found, memory in ahead:
                batch = self._collate(found, memory)
                self._num_given += 1
                self.skipped += batch.get("skipped", [])[: _MOST_SKIPPED - len(self.skipped)]
                yield batch
        finally:
            ahead.close()
        self.load_state_dict(self._sampler.state_dict())  # the sampler is at the next epoch

    def state_dict(self) -> dict[str, Any]:
        """Where the epoch is after the batches that were given out, as `ClipSampler.state_dict` says it."""
        return self._sampler.state_dict(self._num_given)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where a sampler or batches of the same clips were, on any number of ranks.

        Raises:
            ValueError: the state is of other clips.
        """
        self._sampler.load_state_dict(state)
        self._num_given = 0

    def _collate(self, found: Sequence[dict[str, Any] | DamagedClip], memory: Any) -> dict[str, Any]:
        """A batch of clips: arrays with one element a clip. Most frames are in their places in `memory` already."""
        clips = [each for each in found if isinstance(each, dict)]
        batch: dict[str, Any] = {}
        for name in self._dataset._names:
            values = [clip[name] for clip in clips]
            if name == "frames" and memory is not None and all(each.shape == memory[0].shape for each in values):
                for place, value in enumerate(values):  # after a clip that was left out the others move to the front
                    self._memory.put(memory, place, value)
                batch[name] = memory[: len(values)]
            else:
                batch[name] = _stacked(values)
        if self._dataset._may_skip:
            batch["skipped"] = [each for each in found if isinstance(each, DamagedClip)]
        return batch


def _stacked(values: list[Any]) -> Any:
    """Arrays of one shape, or numbers, as an array; other values as a list."""
    if values and isinstance(values[0], np.ndarray) and all(value.shape == values[0].shape for value in values):
        return np.stack(values)
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int64)
    return values
