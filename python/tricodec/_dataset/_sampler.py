# SPDX-License-Identifier: Apache-2.0
"""ClipSampler: which clips a rank reads, in which order, and where it continues after an interruption."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tricodec._dataset._order import shuffled

if TYPE_CHECKING:
    from tricodec._dataset._clips import Dataset

Last = Literal["partial", "drop", "pad"]
_LAST: tuple[Last, ...] = ("partial", "drop", "pad")


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
        dataset: Dataset,
        batch_size: int,
        *,
        rank: int = 0,
        num_ranks: int = 1,
        shuffle: bool = True,
        seed: int = 0,
        last: Last = "partial",
    ) -> None:
        """Makes a sampler at the start of epoch 0.

        Args:
            dataset: the clips.
            batch_size: clips of a batch of one rank.
            rank: the number of this rank.
            num_ranks: the number of ranks.
            shuffle: take the clips in an order that `seed` and the epoch decide; else in that of their numbers.
            seed: an int; its lowest 64 bits count.
            last: how clips that do not fill the last step of an epoch are handled. "partial": ranks share them, as
                evenly as they divide; a rank that gets none has one batch less. "drop": they are left out. "pad": the
                step is filled with the clips that begin the epoch.

        Raises:
            ValueError: an argument is not accepted.
        """
        if batch_size < 1 or num_ranks < 1 or not 0 <= rank < num_ranks:
            raise ValueError(
                f"batch_size is {batch_size}, rank is {rank} and num_ranks is {num_ranks}; expected 1 or more, a rank "
                "from 0 to num_ranks - 1, and 1 or more"
            )
        if last not in _LAST:
            raise ValueError(f"last is {last!r}; accepted are {', '.join(map(repr, _LAST))}")
        self._dataset = dataset
        self._batch_size = batch_size
        self._rank = rank
        self._num_ranks = num_ranks
        self._shuffle = shuffle
        self._seed = seed
        self._last: Last = last
        self._epoch = 0
        self._done = 0  # clips of the epoch before the next step of this sampler
        self._began = (0, 0)  # epoch and clips before the first step of the iteration

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._epoch

    def __len__(self) -> int:
        """Batches of this rank that are left in the epoch."""
        left, step = len(self._dataset) - self._done, self._batch_size * self._num_ranks
        whole, rest = divmod(max(left, 0), step)
        if self._last == "pad":
            return whole + (rest > 0)
        return whole + (self._last == "partial" and rest > self._rank)

    def __iter__(self) -> Iterator[list[int]]:
        """The batches that are left in the epoch. The next iteration is the next epoch."""
        size, step = len(self._dataset), self._batch_size * self._num_ranks
        self._began = (self._epoch, self._done)
        while self._done < size:
            begin, self._done = self._done, min(self._done + step, size)
            if self._done - begin < step and self._last == "drop":
                break
            places = np.arange(begin, self._done)
            if self._last == "pad":
                places = np.arange(begin, begin + step) % size
            mine = np.array_split(places, self._num_ranks)[self._rank]
            if len(mine):
                yield (shuffled(mine, size, self._seed, self._epoch) if self._shuffle else mine).tolist()
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
            epoch, done = self._began
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
                "with those, or begin an epoch"
            )
        self._epoch, self._done = int(state["epoch"]), int(state["num_clips_done"])
        self._seed, self._shuffle = int(state["seed"]), bool(state["shuffle"])
        self._began = (self._epoch, self._done)
