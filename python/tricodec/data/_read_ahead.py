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
from collections.abc import Callable, Iterator, Sequence
from typing import Any

#: Reads clips of one video: its row, the clips, and the memory for the frames of each, or None.
Read = Callable[[int, Sequence[int], Sequence[Any]], list[Any]]


@dataclasses.dataclass
class _Batch:
    """A batch on its way: its clips, and what was read of them by place."""

    clips: list[int]
    size_bytes: int
    memory: Any
    found: list[Any]
    num_missing: int


@dataclasses.dataclass(frozen=True)
class _Waiting:
    """A clip that waits to be read."""

    batch: _Batch
    place: int
    row: int
    first: int
    last: int
    """The groups of pictures that it needs."""


class ReadAhead:
    """An iterator of batches, which threads read. close() ends the threads.

    Thread safety: one thread at a time.
    """

    def __init__(
        self,
        batches: Iterator[list[int]],
        read: Read,
        groups: Callable[[int], tuple[int, int, int]],
        clip_bytes: Callable[[int], int],
        new_memory: Callable[[Sequence[int]], Any],
        *,
        num_threads: int,
        max_bytes: int,
    ) -> None:
        """Starts the threads.

        Args:
            batches: clip numbers; the thread that iterates takes them.
            read: reads clips of one video.
            groups: the row of a clip's video, and the first and the last group of pictures that the clip needs.
            clip_bytes: the memory of a clip.
            new_memory: an array for the frames of a batch, one element a clip; None if its shape is not known.
            num_threads: videos read at once.
            max_bytes: memory of the batches ahead. The next batch is read whatever it takes.
        """
        self._batches = batches
        self._read = read
        self._groups = groups
        self._clip_bytes = clip_bytes
        self._new_memory = new_memory
        self._max_bytes = max_bytes
        self._changed = threading.Condition()
        self._ahead: deque[_Batch] = deque()
        self._waiting: list[_Waiting] = []  # in the order of the batches
        self._error: BaseException | None = None
        self._closed = False
        # Daemons: a program that forgets close() ends.
        self._threads = [
            threading.Thread(target=self._work, name=f"tricodec-read-ahead-{number}", daemon=True)
            for number in range(num_threads)
        ]
        self._fill()
        for thread in self._threads:
            thread.start()

    def __iter__(self) -> Iterator[tuple[list[Any], Any]]:
        return self

    def __next__(self) -> tuple[list[Any], Any]:
        """Returns what `read` gave for each clip of the next batch, and the batch's memory."""
        self._fill()
        if not self._ahead:
            raise StopIteration
        batch = self._ahead[0]
        with self._changed:
            while batch.num_missing and self._error is None:
                self._changed.wait()
            if batch.num_missing:
                assert self._error is not None
                raise self._error
        self._ahead.popleft()
        self._fill()
        return batch.found, batch.memory

    def close(self) -> None:
        """Ends the threads, each after the read that it is in."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _fill(self) -> None:
        while not self._ahead or sum(batch.size_bytes for batch in self._ahead) < self._max_bytes:
            clips = next(self._batches, None)
            if clips is None:
                return
            size_bytes = sum(map(self._clip_bytes, clips))
            batch = _Batch(clips, size_bytes, self._new_memory(clips), [None] * len(clips), len(clips))
            self._ahead.append(batch)
            new = [_Waiting(batch, place, *self._groups(clip)) for place, clip in enumerate(clips)]
            with self._changed:
                self._waiting += new
                self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                taken = self._take()
            try:
                found = self._read(
                    taken[0].row,
                    [each.batch.clips[each.place] for each in taken],
                    [None if each.batch.memory is None else each.batch.memory[each.place] for each in taken],
                )
            except BaseException as error:
                with self._changed:
                    self._error = self._error or error
                    self._closed = True
                    self._changed.notify_all()
                return
            with self._changed:
                for each, clip in zip(taken, found, strict=True):
                    each.batch.found[each.place] = clip
                    each.batch.num_missing -= 1
                self._changed.notify_all()

    def _take(self) -> list[_Waiting]:
        """The first clip that waits, and those that share a group of pictures with it."""
        wanted = self._waiting[0]
        taken: list[_Waiting] = []
        left: list[_Waiting] = []
        for each in self._waiting:
            shares = each.row == wanted.row and each.first <= wanted.last and each.last >= wanted.first
            (taken if shares else left).append(each)
        self._waiting = left
        return taken
