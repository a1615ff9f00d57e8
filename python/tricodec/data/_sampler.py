# SPDX-License-Identifier: Apache-2.0
"""ClipSampler: which clips a rank reads, in which order, and where it continues after an interruption."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class Clips(Protocol):
    """What a sampler needs of a data set."""

    fingerprint: str

    def __len__(self) -> int: ...


class ClipSampler:
    """Batches of clip numbers of one rank: the ``batch_sampler`` of a DataLoader.

    An epoch is one order of all clips, the same on every rank. A step takes the next ``batch_size * num_ranks`` of it,
    and each rank takes an equal part. So each clip is read once an epoch by one rank. The state counts clips, not
    steps, and no rank enters it: a run that continues with another number of ranks or another batch size reads the
    clips that are left.

    Thread safety: one thread at a time.
    """

    def __init__(
        self,
        dataset: Clips,
        batch_size: int,
        *,
        rank: int = 0,
        num_ranks: int = 1,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        """Makes a sampler at the start of epoch 0.

        Args:
            dataset: the clips.
            batch_size: clips of a batch of one rank.
            rank: the number of this rank.
            num_ranks: the number of ranks.
            shuffle: take the clips in an order that `seed` and the epoch decide; else in that of their numbers.
            seed: 0 or more.
            drop_last: leave out the clips that do not fill the last step of an epoch, so that all ranks have as many
                batches. Otherwise ranks share them, and a rank that gets none has one batch less.

        Raises:
            ValueError: an argument is not accepted.
        """
        if batch_size < 1 or num_ranks < 1 or not 0 <= rank < num_ranks or seed < 0:
            raise ValueError(
                f"batch_size is {batch_size}, rank is {rank}, num_ranks is {num_ranks} and seed is {seed}; expected 1 "
                "or more, a rank from 0 to num_ranks - 1, 1 or more, and 0 or more"
            )
        self._dataset = dataset
        self._batch_size = batch_size
        self._rank = rank
        self._num_ranks = num_ranks
        self._shuffle = shuffle
        self._seed = seed
        self._drop_last = drop_last
        self._epoch = 0
        self._done = 0  # clips of the epoch before the next step of this sampler
        self._started = (0, 0)  # epoch and clips before the first step of the iteration

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._epoch

    def __len__(self) -> int:
        """Batches of this rank that are left in the epoch."""
        whole, rest = divmod(max(len(self._dataset) - self._done, 0), self._batch_size * self._num_ranks)
        return whole + (not self._drop_last and rest > self._rank)

    def __iter__(self) -> Iterator[list[int]]:
        """The batches that are left in the epoch. The next iteration is the next epoch."""
        size, step = len(self._dataset), self._batch_size * self._num_ranks
        self._started = (self._epoch, self._done)
        order = epoch_order(size, self._seed, self._epoch) if self._shuffle else np.arange(size)
        while self._done < size:
            clips = order[self._done : self._done + step]
            self._done += len(clips)
            if len(clips) < step and self._drop_last:
                break
            mine = np.array_split(clips, self._num_ranks)[self._rank]
            if len(mine):
                yield mine.tolist()
        self._epoch += 1
        self._done = 0

    def state_dict(self, num_batches: int | None = None) -> dict[str, Any]:
        """Where the epoch is, as numbers and texts.

        Args:
            num_batches: batches of this iteration that the program has used. A DataLoader with workers takes more from
                the sampler than it has given out, so name the number there. None is all that the sampler has given.

        Returns:
            dict: ``epoch``, ``num_clips_done``, ``seed``, ``shuffle`` and ``fingerprint``.
        """
        epoch, done = self._epoch, self._done
        if num_batches is not None:
            epoch, done = self._started
            done = min(done + num_batches * self._batch_size * self._num_ranks, len(self._dataset))
        return {
            "epoch": epoch, "num_clips_done": done, "seed": self._seed, "shuffle": self._shuffle,
            "fingerprint": self._dataset.fingerprint,
        }  # fmt: skip

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where a sampler of the same clips was, on any number of ranks.

        Args:
            state: what `state_dict` gave.

        Raises:
            ValueError: the state is of other clips.
        """
        if state["fingerprint"] != self._dataset.fingerprint:
            raise ValueError(
                "the state is of other clips: the index, the length, the stride or the step is another one; continue "
                "with those, or start an epoch"
            )
        self._epoch, self._done = int(state["epoch"]), int(state["num_clips_done"])
        self._seed, self._shuffle = int(state["seed"]), bool(state["shuffle"])
        self._started = (self._epoch, self._done)


def epoch_order(size: int, seed: int, epoch: int) -> npt.NDArray[np.int64]:
    """A permutation that the three numbers alone decide: NumPy keeps the results of RandomState for all versions."""
    bits = np.random.MT19937(np.random.SeedSequence([seed, epoch]))
    return np.random.RandomState(bits).permutation(np.arange(size, dtype=np.int64))
