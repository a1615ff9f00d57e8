# SPDX-License-Identifier: Apache-2.0
"""The clips of a `tricodec.Dataset` for PyTorch: an iterable dataset, and a loader with a place that can be saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed
from torch.utils.data import DataLoader, IterableDataset, default_convert, get_worker_info

from tricodec._cores import share_of_cores
from tricodec._dataset._batches import ClipBatches
from tricodec._dataset._clips import Dataset
from tricodec._dataset._damage import DamagedClip
from tricodec._dataset._sampler import Last
from tricodec.torch._device_memory import DeviceMemory
from tricodec.torch._worker_memory import WorkerMemory, forget_ended_workers

_READ_AHEAD_BYTES = 256 << 20
_OWN_OPTIONS = ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last", "collate_fn", "persistent_workers")


class IterableClips(IterableDataset[dict[str, Any]]):  # type: ignore[misc,unused-ignore]  # torch may not be installed
    """Batches of clips, which the workers of a DataLoader share: an iterable dataset.

        clips = tricodec.Dataset("videos.parquet", clip_length=16, size=(224, 224))
        loader = StatefulDataLoader(IterableClips(clips, batch_size=8), batch_size=None, num_workers=4)

    It gives whole batches, so that the loader has ``batch_size=None``. Worker w of W has every W-th batch from the w-th
    on; the loader takes turns, and its order is that of one process. `state_dict` and `load_state_dict` are those that
    torchdata's StatefulDataLoader calls in each worker: it continues with the same number of workers and ranks. For
    other numbers take `ClipLoader`.

    Without ``persistent_workers`` each epoch begins with a copy of this object: call `set_epoch` before it.

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
        last: Last = "partial",
        read_ahead_bytes: int = _READ_AHEAD_BYTES,
        num_threads: int = 0,
    ) -> None:
        """Makes the dataset at the start of epoch 0.

        Args:
            dataset: the clips.
            batch_size, rank, num_ranks, shuffle, seed, last: as `ClipSampler` takes them.
            read_ahead_bytes: as `Dataset.batches` takes it; the workers share it.
            num_threads: as `Dataset.batches` takes it, in each worker; 0 shares the cores.

        Raises:
            ValueError: an argument is not accepted.
        """
        self._dataset = dataset
        self._sampler = dataset.sampler(
            batch_size, rank=rank, num_ranks=num_ranks, shuffle=shuffle, seed=seed, last=last
        )  # fmt: skip
        self._options: dict[str, Any] = {"read_ahead_bytes": read_ahead_bytes, "num_threads": num_threads}
        dataset.batches(batch_size, **self._options)  # checks them
        self._began = self._sampler.state_dict()
        self._num_given = 0

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from its begin."""
        self.load_state_dict({"began": {**self._began, "epoch": epoch, "num_clips_done": 0}, "num_batches": 0})

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The batches of this worker, as `ClipBatches` gives them."""
        worker = get_worker_info()
        first, every = (0, 1) if worker is None else (worker.id, worker.num_workers)
        self._sampler.load_state_dict(self._began)
        memory = None if worker is None else WorkerMemory(self._dataset)
        batches = ClipBatches(
            self._dataset,
            self._sampler,
            self._options["read_ahead_bytes"] // every,
            self._options["num_threads"] or share_of_cores(),
            memory,
        )
        for batch in batches._steps(first + self._num_given * every, every):
            self._num_given += 1
            yield batch if memory is None else memory.sent(batch)
        self._began, self._num_given = self._sampler.state_dict(), 0

    def state_dict(self) -> dict[str, Any]:
        """Where this worker is."""
        return {"began": self._began, "num_batches": self._num_given}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where the worker of the same number was.

        Raises:
            ValueError: the state is of other clips.
        """
        self._sampler.load_state_dict(state["began"])
        self._began, self._num_given = dict(state["began"]), int(state["num_batches"])


class ClipLoader:
    """Batches of clips as tensors, by processes or by threads, with a place that can be saved.

        clips = tricodec.Dataset("videos.parquet", clip_length=16, size=(224, 224), layout="CHW")
        loader = ClipLoader(clips, 8, seed=1)
        for batch in loader:
            print(batch["frames"].shape)  # uint8 [8, 16, 3, 224, 224]
            state = loader.state_dict()

    A state counts the clips that all ranks were given: a run that continues with another number of ranks, workers or
    clips a batch reads exactly the clips that are left. One iteration is what is left of an epoch; the next one is the
    next epoch. An iteration that was left early is continued by the next one.

    Thread safety: one thread at a time.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        rank: int | None = None,
        num_ranks: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        last: Last = "partial",
        num_workers: int = 0,
        read_ahead_bytes: int = _READ_AHEAD_BYTES,
        num_threads: int = 0,
        **loader_options: Any,
    ) -> None:
        """Makes a loader at the start of epoch 0.

        Args:
            dataset: the clips.
            batch_size, shuffle, seed, last: as `ClipSampler` takes them.
            rank, num_ranks: as `ClipSampler` takes them; None is what ``torch.distributed`` says, or the only one.
            num_workers: processes that read. 0: threads of this process do, which share frames without a copy. On a
                GPU threads alone read; then ``frames`` is a tensor there.
            read_ahead_bytes, num_threads: as `IterableClips` takes them.
            **loader_options: options of torch's DataLoader: prefetch_factor, pin_memory, multiprocessing_context, ...

        Raises:
            ValueError: an argument is not accepted, or workers were asked for with a GPU.
            TypeError: an option of DataLoader that a ClipLoader decides itself.
        """
        for name in _OWN_OPTIONS:
            if name in loader_options:
                raise TypeError(f"ClipLoader decides {name} of DataLoader itself; leave it out")
        if rank is None or num_ranks is None:
            if rank is not num_ranks:
                raise ValueError(f"rank is {rank} and num_ranks is {num_ranks}; name both or none")
            rank, num_ranks = _rank()
        order: dict[str, Any] = {
            "rank": rank, "num_ranks": num_ranks, "shuffle": shuffle, "seed": seed, "last": last,
        }  # fmt: skip
        reading: dict[str, Any] = {"read_ahead_bytes": read_ahead_bytes, "num_threads": num_threads}
        self._memory = DeviceMemory(dataset, dataset._device) if dataset._device.startswith("cuda") else None
        if self._memory is not None and num_workers:
            raise ValueError(
                f"num_workers is {num_workers} and the data set's device is '{dataset._device}'; threads of one "
                "process keep a GPU's decoders busy: leave num_workers out"
            )
        self._batches = ClipBatches(
            dataset, dataset.sampler(batch_size, **order), read_ahead_bytes, num_threads, self._memory
        )  # fmt: skip
        self._iterable = IterableClips(dataset, batch_size, **order, **reading) if num_workers else None
        self._num_workers = num_workers
        self._loader_options = loader_options

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._batches.epoch

    @property
    def skipped(self) -> list[DamagedClip]:
        """Clips that ``on_damage="skip"`` left out so far, the first 10,000."""
        return self._batches.skipped

    def __len__(self) -> int:
        """Batches of this rank that are left in the epoch."""
        return len(self._batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Batches as `ClipBatches` gives them, with tensors."""
        if self._iterable is None:
            source: Any = self._batches._steps(0, 1)
            if self._memory is not None:
                source = map(self._memory.with_tensors, source)
            source = map(default_convert, source)
        else:
            self._batches._rewind()
            self._iterable.load_state_dict({"began": self._batches.state_dict(), "num_batches": 0})
            source = DataLoader(
                self._iterable, batch_size=None, num_workers=self._num_workers, **self._loader_options
            )  # fmt: skip
        yield from self._batches._counted(source)
        forget_ended_workers()

    def state_dict(self) -> dict[str, Any]:
        """Where the epoch is after the batches that were given out; as `ClipSampler.state_dict`. The same on all
        ranks that were given as many."""
        return self._batches.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where a loader of the same clips was, on any number of ranks and workers.

        Raises:
            ValueError: the state is of other clips.
        """
        self._batches.load_state_dict(state)


def _rank() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1
