# SPDX-License-Identifier: Apache-2.0
"""ClipBatches: the batches of a rank, read ahead, with a place that can be saved.

Note [Reading ahead]: several videos are read at once, in one bound of memory. The clips of the next batches wait in the
order of the batches, as many as the bound holds. A thread takes the first one that waits, and with it all others of the
same groups of pictures, so that a group is decoded once for all windows in it. Batches come out in their order. Which
clips are read together depends on the threads; the frames do not.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tricodec.data._clip_reader import DamagedClip
from tricodec.data._clips import Dataset
from tricodec.data._sampler import ClipSampler
from tricodec.video.cores import num_cores

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tricodec._option_types import SamplingOptions

READ_AHEAD_BYTES = 256 << 20
_MOST_SKIPPED = 10_000


class HostMemory:
    """Memory for the frames of batches: arrays of numpy."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def of(self, clips: Sequence[int]) -> Any:
        """Returns an array with one element a clip; None if its shape is not known."""
        found = self._dataset._batch_shape(clips, "cpu")
        return None if found is None else np.empty(*found)

    def put(self, memory: Any, place: int, frames: Any) -> None:
        """Copies the frames of a clip to their place, unless they are there."""
        if not np.may_share_memory(frames, memory[place]):
            memory[place] = frames


@dataclasses.dataclass(frozen=True)
class _Clip:
    """A clip that waits to be read."""

    number: int
    row: int
    first: int
    last: int
    """The groups of pictures that it needs."""
    out: Any
    found: Future[Any] = dataclasses.field(default_factory=Future)


@dataclasses.dataclass(frozen=True)
class _Batch:
    """A batch on its way."""

    clips: list[_Clip]
    size_bytes: int
    memory: Any


class ReadAhead:
    """An iterator of batches, which threads read. Thread safety: one thread at a time."""

    def __init__(
        self, dataset: Dataset, memory: HostMemory, batches: Iterator[list[int]], *, num_threads: int, max_bytes: int
    ) -> None:
        """Starts to read batches of clip numbers, which the thread that iterates takes."""
        self._dataset = dataset
        self._memory = memory
        self._batches = batches
        self._max_bytes = max_bytes
        self._ahead: deque[_Batch] = deque()
        self._lock = threading.Lock()
        self._waiting: list[_Clip] = []  # in the order of the batches
        self._threads = ThreadPoolExecutor(num_threads, "tricodec-read-ahead")
        self._fill()

    def __iter__(self) -> Iterator[tuple[list[Any], Any]]:
        return self

    def __next__(self) -> tuple[list[Any], Any]:
        """Returns what was read of each clip of the next batch, and the batch's memory."""
        self._fill()
        if not self._ahead:
            raise StopIteration
        found = [clip.found.result() for clip in self._ahead[0].clips]
        batch = self._ahead.popleft()
        self._fill()
        return found, batch.memory

    def close(self) -> None:
        """Ends the threads, each after the read that it is in."""
        self._threads.shutdown(cancel_futures=True)

    def _fill(self) -> None:
        while not self._ahead or sum(batch.size_bytes for batch in self._ahead) < self._max_bytes:
            numbers = next(self._batches, None)
            if numbers is None:
                return
            memory = self._memory.of(numbers)
            outs = [None] * len(numbers) if memory is None else memory
            groups = map(self._dataset._groups, numbers)
            clips = [_Clip(number, *of, out) for number, of, out in zip(numbers, groups, outs, strict=True)]
            self._ahead.append(_Batch(clips, sum(map(self._dataset._clip_bytes, numbers)), memory))
            with self._lock:
                self._waiting += clips
            for _ in clips:
                self._threads.submit(self._read_next)

    def _read_next(self) -> None:
        """Reads the first clip that waits, and those that share a group of pictures with it."""
        with self._lock:
            if not self._waiting:  # it was read together with another one
                return
            wanted = self._waiting[0]
            taken: list[_Clip] = []
            left: list[_Clip] = []
            for clip in self._waiting:
                shares = clip.row == wanted.row and clip.first <= wanted.last and clip.last >= wanted.first
                (taken if shares else left).append(clip)
            self._waiting = left
        try:
            results = self._dataset._read(wanted.row, [clip.number for clip in taken], [clip.out for clip in taken])
        except BaseException as error:
            for clip in taken:
                clip.found.set_exception(error)
        else:
            for clip, result in zip(taken, results, strict=True):
                clip.found.set_result(result)


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
        read_ahead_bytes: int = READ_AHEAD_BYTES,
        num_threads: int = 0,
        **sampling: Unpack[SamplingOptions],
    ) -> None:
        """Starts at epoch 0.

        Args:
            dataset: the clips.
            batch_size: clips of a batch.
            read_ahead_bytes: bound of the memory of the frames that are read ahead. Clips of it that need the same
                group of pictures are decoded together. The next batch is read whatever it takes.
            num_threads: videos read at once; 0 is the number of cores.
            **sampling: rank, num_ranks, shuffle, seed and drop_last of `ClipSampler`.

        Raises:
            ValueError: an argument is not accepted.
        """
        if read_ahead_bytes < 0 or num_threads < 0:
            raise ValueError(
                f"read_ahead_bytes is {read_ahead_bytes} and num_threads is {num_threads}; expected 0 or more"
            )
        self._dataset = dataset
        self._sampler = ClipSampler(dataset, batch_size, **sampling)
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
