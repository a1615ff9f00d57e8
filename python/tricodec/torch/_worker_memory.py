# SPDX-License-Identifier: Apache-2.0
"""Frames of workers in shared memory that is used again.

Note [Slots]: the pages of fresh shared memory cost a worker half as much as decoding the frames that it writes there.
So a worker keeps its memory, in slots of a batch each. The process of the loader maps a slot when it comes for the
first time, and keeps it mapped. A byte behind the frames says that nothing in that process refers to them any more:
then the worker uses the slot again. If the process has forked meanwhile, its child may refer to them: then the worker
gives the slot up. A program that keeps batches makes the worker take more slots. Batches that reach
the loader in another way, such as through a data set that wraps this one, are sent as torch sends tensors.
"""

from __future__ import annotations

import itertools
import math
import os
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tricodec._dataset._batches import put_on_host

if TYPE_CHECKING:
    from tricodec._dataset._clips import Dataset

_TAIL_BYTES = 64
"""After the frames: the first of them says what the slot is. The frames have a multiple of it."""
_FREE, _IN_USE, _GIVEN_UP = range(3)
_MOST_FREE = 2
_MOST_UNSENT = 8
_NUMBERS = itertools.count()
_FORKS: list[int] = []
"""One element a fork by this process: its child has the memory too, and may have tensors of it."""
os.register_at_fork(after_in_parent=lambda: _FORKS.append(0))


class SentBatch(dict[str, Any]):
    """A batch of a worker. The process of the loader gets a dict."""


class _Slot:
    def __init__(self, size_bytes: int, dropped: list[int]) -> None:
        self.number = next(_NUMBERS)
        self.size_bytes = -(-size_bytes // _TAIL_BYTES) * _TAIL_BYTES
        storage = torch.UntypedStorage._new_shared(self.size_bytes + _TAIL_BYTES)  # as torch's default_collate does
        self.whole = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),))
        self.dropped = dropped
        """Numbers of slots that the process of the loader is to forget."""
        self.is_known = False
        """It was sent before."""
        self.is_sent = False
        """Since it was taken."""
        self.times_taken = 0

    @property
    def is_dropped(self) -> bool:
        """Nothing in the process of the loader refers to the frames."""
        return self.is_sent and int(self.whole[-_TAIL_BYTES]) != _IN_USE

    @property
    def is_given_up(self) -> bool:
        """A child of that process may refer to them."""
        return int(self.whole[-_TAIL_BYTES]) == _GIVEN_UP

    def take(self) -> None:
        self.whole[-_TAIL_BYTES] = _IN_USE
        self.is_sent = False
        self.times_taken += 1


_SLOTS: weakref.WeakValueDictionary[int, _Slot] = weakref.WeakValueDictionary()
"""The slots of this worker, by their address."""


class WorkerMemory:
    """Memory for the frames of the batches of a worker, which are sent without a copy.

    Thread safety: one thread at a time.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._slots: list[_Slot] = []
        self._ahead: deque[tuple[_Slot, Any] | None] = deque()
        self._given: deque[tuple[_Slot, int]] = deque()
        self._dropped: list[int] = []

    def of(self, clips: Sequence[int]) -> Any:
        """An array with one element a clip; None if its shape is not known."""
        found = self._dataset._batch_shape(clips)
        if found is None:
            self._ahead.append(None)
            return None
        shape, dtype = found
        slot = self._free(math.prod(shape) * dtype.itemsize)
        slot.take()
        of_torch = torch.from_numpy(np.empty(0, dtype)).dtype
        tensor = torch.empty(0, dtype=of_torch).set_(slot.whole.untyped_storage(), 0, shape)
        self._ahead.append((slot, tensor))
        return tensor.numpy()

    put = staticmethod(put_on_host)

    def sent(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The next batch, as the worker gives it to the loader."""
        ahead = self._ahead.popleft()
        frames = batch["frames"]
        if ahead is None or not isinstance(frames, np.ndarray):
            return dict(batch)
        slot, tensor = ahead
        if frames.ctypes.data != tensor.data_ptr():
            return dict(batch)
        self._given.append((slot, slot.times_taken))
        if len(self._given) > _MOST_UNSENT:
            other, times_taken = self._given.popleft()
            if not other.is_sent and other.times_taken == times_taken:  # its batch went another way
                self._slots.remove(other)
        return SentBatch({**batch, "frames": tensor[: len(frames)]})

    def _free(self, size_bytes: int) -> _Slot:
        free = [slot for slot in self._slots if slot.is_dropped]
        fitting = [slot for slot in free if slot.size_bytes >= size_bytes and not slot.is_given_up]
        kept = fitting[: 1 + _MOST_FREE]
        self._dropped += [slot.number for slot in free if slot not in kept]
        self._slots = [slot for slot in self._slots if slot not in free or slot in kept]
        if fitting:
            return fitting[0]
        slot = _Slot(size_bytes, self._dropped)
        self._slots.append(slot)
        _SLOTS[slot.whole.data_ptr()] = slot
        return slot


def _reduced(batch: SentBatch) -> tuple[Any, ...]:
    """How a batch is sent to another process."""
    frames = batch["frames"]
    slot = _SLOTS.get(frames.data_ptr()) if isinstance(frames, torch.Tensor) else None
    if slot is None:
        return dict, (dict(batch),)
    rest = {name: value for name, value in batch.items() if name != "frames"}
    dropped = [slot.dropped.pop() for _ in range(len(slot.dropped))]
    whole = None if slot.is_known else slot.whole
    slot.is_known = slot.is_sent = True
    place = (tuple(frames.shape), frames.stride(), frames.dtype)
    return _received, (rest, os.getpid(), slot.number, place, whole, dropped)


ForkingPickler.register(SentBatch, _reduced)

_MAPPED: dict[int, dict[int, Any]] = {}
"""The slots that came: by the process of the worker, then by number."""


def _received(
    rest: dict[str, Any], process: int, number: int, place: tuple[Any, ...], whole: Any, dropped: list[int]
) -> dict[str, Any]:
    """A batch in the process of the loader."""
    if process not in _MAPPED:
        forget_ended_workers()
    slots = _MAPPED.setdefault(process, {})
    for each in dropped:
        slots.pop(each, None)
    if whole is not None:
        slots[number] = whole
    array = slots[number].numpy()
    memory, tail = array[:-_TAIL_BYTES], array[-_TAIL_BYTES:]
    # torch keeps `memory` as long as a tensor refers to it.
    weakref.finalize(memory, _drop, tail, os.getpid(), len(_FORKS)).atexit = False
    shape, stride, dtype = place
    return {"frames": torch.from_numpy(memory).view(dtype).as_strided(shape, stride), **rest}


def _drop(tail: Any, process: int, forks: int) -> None:
    if os.getpid() == process:  # a child made by fork() drops its copies, and the parent still has the frames
        tail.fill(_FREE if forks == len(_FORKS) else _GIVEN_UP)


def forget_ended_workers() -> None:
    """Frees the slots of processes that have ended."""
    for process in [process for process in _MAPPED if not Path(f"/proc/{process}").exists()]:
        del _MAPPED[process]
