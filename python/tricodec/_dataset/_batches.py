# SPDX-License-Identifier: Apache-2.0
"""ClipBatches: the batches of a rank, read ahead, with a place that can be saved."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tricodec._cores import num_cores
from tricodec._dataset._damage import DamagedClip
from tricodec._dataset._read_ahead import ReadAhead

if TYPE_CHECKING:
    from tricodec._dataset._clips import Dataset
    from tricodec._dataset._sampler import ClipSampler

_MOST_SKIPPED = 10_000
_MOST_FREE = 2


class Memory(Protocol):
    """Where the frames of batches are put."""

    def of(self, clips: Sequence[int]) -> Any:
        """An array with one element a clip; None if its shape is not known."""

    def put(self, memory: Any, place: int, frames: Any) -> None:
        """Copies the frames of a clip to their place, unless they are there."""


def put_on_host(memory: Any, place: int, frames: Any) -> None:
    """As `Memory.put`, for numpy arrays."""
    if not np.may_share_memory(frames, memory[place]):
        memory[place] = frames


class ClipBatches:
    """The batches of a sampler, with their frames. Made by `Dataset.batches`.

    One iteration is what is left of an epoch; the next one is the next epoch. An iteration that was left early is
    continued by the next one. Several videos are read at once, ahead of the program.

    Thread safety: one thread at a time.
    """

    def __init__(
        self,
        dataset: Dataset,
        sampler: ClipSampler,
        read_ahead_bytes: int,
        num_threads: int,
        memory: Memory | None = None,
    ) -> None:
        if read_ahead_bytes < 0 or num_threads < 0:
            raise ValueError(
                f"read_ahead_bytes is {read_ahead_bytes} and num_threads is {num_threads}; expected 0 or more"
            )
        self._dataset = dataset
        self._sampler = sampler
        self._max_bytes = read_ahead_bytes
        self._num_threads = num_threads
        self._num_given = 0
        self._memory: Memory = memory or _Memory(dataset)
        self.skipped: list[DamagedClip] = []
        """Clips that ``on_damage="skip"`` left out so far, the first 10,000."""

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return int(self._sampler.state_dict(0)["epoch"])

    def __len__(self) -> int:
        """Batches that are left in the epoch."""
        self._rewind()
        return len(self._sampler)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Batches: what a clip has, each as an array with one element a clip.

        ``frames`` is [N, F, H, W, C] or as the layout says; a list if clips have several shapes or a GPU decoded them.
        ``pts_seconds`` is float64 [N, F], ``video``, ``start`` and ``clip`` are int64 [N]. With ``on_damage="skip"``
        there is ``skipped`` too, a list of DamagedClip: the batch is shorter by these, and may be empty.
        """
        return self._counted(self._steps(0, 1))

    def state_dict(self) -> dict[str, Any]:
        """Where the epoch is after the batches that were given out; as `ClipSampler.state_dict`."""
        return self._sampler.state_dict(self._num_given)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where a sampler or batches of the same clips were, on any number of ranks."""
        self._sampler.load_state_dict(state)
        self._num_given = 0

    def _counted(self, batches: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Counts the batches that are given out, and what they leave out. At their end the next epoch begins."""
        for batch in batches:
            self._num_given += 1
            self.skipped += batch.get("skipped", [])[: _MOST_SKIPPED - len(self.skipped)]
            yield batch
        self._sampler.load_state_dict({**self._sampler.state_dict(0), "epoch": self.epoch + 1, "num_clips_done": 0})
        self._num_given = 0

    def _steps(self, first: int, every: int) -> Iterator[dict[str, Any]]:
        """The batches of a worker: from number `first` on, `every` apart."""
        self._rewind()
        dataset = self._dataset
        ahead = ReadAhead(
            itertools.islice(self._sampler, first, None, every),
            dataset._read,
            dataset._groups,
            dataset._clip_bytes,
            self._memory.of,
            num_threads=self._num_threads or num_cores(),
            max_bytes=self._max_bytes,
        )
        try:
            for found, memory in ahead:
                yield dataset._collate(found, memory, self._memory.put)
        finally:
            ahead.close()

    def _rewind(self) -> None:
        """The sampler is at the first batch that was not given out."""
        self.load_state_dict(self.state_dict())


class _Memory:
    """Arrays for the frames of batches. One that the program has dropped is used again: fresh pages cost more than a
    copy.

    Thread safety: one thread at a time.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._kept: list[Any] = []

    def of(self, clips: Sequence[int]) -> Any:
        """An array with one element a clip; None if its shape is not known."""
        found = self._dataset._batch_shape(clips)
        if found is None:
            return None
        shape, dtype = found
        size = math.prod(shape) * dtype.itemsize
        free = [place for place in range(len(self._kept)) if _references(self._kept, place) == _ONE]
        fitting = [place for place in free if self._kept[place].nbytes >= size]
        taken = self._kept[fitting[0]] if fitting else np.empty(size, np.uint8)
        dropped = set(free[_MOST_FREE:]) | (set(free) - set(fitting))
        self._kept = [
            each for place, each in enumerate(self._kept) if place not in dropped and each is not taken
        ] + [taken]  # fmt: skip
        return taken[:size].view(dtype).reshape(shape)

    put = staticmethod(put_on_host)


def _references(arrays: list[Any], place: int) -> int:
    return sys.getrefcount(arrays[place])


_ONE = _references([np.empty(0)], 0)
"""What is counted for an array that only a list has."""


def collate(
    found: Sequence[dict[str, Any] | DamagedClip],
    names: Sequence[str],
    may_skip: bool,
    memory: Any = None,
    put: Callable[[Any, int, Any], None] = put_on_host,
) -> dict[str, Any]:
    """A batch of clips: arrays with one element a clip.

    Args:
        found: clips, or what is wrong with them.
        names: what a clip has.
        may_skip: list under ``skipped`` what is wrong.
        memory: an array for the frames of the batch; most are in their places already.
        put: as `Memory.put`.
    """
    clips = [each for each in found if isinstance(each, dict)]
    names = list(clips[0]) if clips else names
    batch = {}
    for name in names:
        values = [clip[name] for clip in clips]
        fits = name == "frames" and memory is not None and clips and all(
            tuple(value.shape) == tuple(memory[0].shape) for value in values
        )  # fmt: skip
        if fits:
            for place, value in enumerate(values):  # clips that were left out make the others move to the front
                put(memory, place, value)
        batch[name] = memory[: len(values)] if fits else _stacked(values)
    return batch | ({"skipped": [each for each in found if not isinstance(each, dict)]} if may_skip else {})


def _stacked(values: list[Any]) -> Any:
    if not values or not isinstance(values[0], np.ndarray):
        if values and not isinstance(values[0], int | float):
            return values
        return np.array(values, np.float64 if any(isinstance(value, float) for value in values) else np.int64)
    if any(value.shape != values[0].shape for value in values):
        return values
    return np.stack(values)
