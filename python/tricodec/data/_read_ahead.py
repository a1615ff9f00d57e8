# SPDX-License-Identifier: Apache-2.0
"""Reading batches of clips ahead: several videos at once, in one bound of memory.

Note [Reading ahead]: the clips of the next batches wait in the order of the batches, as many as the bound holds. A
thread takes the first one that waits, and with it all others of the same groups of pictures, so that a group is decoded
once for all windows in it. Batches come out in their order. Which clips are read together depends on the threads; the
frames do not.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from tricodec.data._clips import Dataset


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
    """An iterator of batches, which threads read. close() ends the threads.

    Thread safety: one thread at a time.
    """

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
