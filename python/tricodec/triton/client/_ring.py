# SPDX-License-Identifier: Apache-2.0
"""Memory for the frames of answers, which requests use in turn: fresh memory costs as much as decoding into it."""

from __future__ import annotations

import collections
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tricodec.triton.client._memory import may_still_run

_MOST_KEPT_BYTES = 256 << 20
"""Of memory without arrays."""
_FORKS: list[int] = []
"""One element a fork, by this process or of it: a child has its parent's memory too, and may have arrays of it."""
os.register_at_fork(after_in_parent=lambda: _FORKS.append(0), after_in_child=lambda: _FORKS.append(0))


class Memory(Protocol):
    """What a ring lends.

    Attributes:
        size: in bytes.
        memory: a buffer of that size.
    """

    size: int
    memory: Any


M = TypeVar("M", bound=Memory)


class Ring(Generic[M]):
    """Memory is used again when no array of it is left, here or in a child made by fork().

    Thread safety: safe.
    """

    def __init__(self, make: Callable[[int], M], end: Callable[[M], None] = lambda _: None) -> None:
        """Has no memory.

        Args:
            make: new memory of at least so many bytes.
            end: called for memory that is not used any more.
        """
        self._make, self._end = make, end
        self._lock = threading.Lock()
        self._free: list[tuple[M, int]] = []  # each with the number of forks before it was lent
        # Arrays are dropped on any thread, also on one that holds the lock; a deque may be appended to on all of them.
        self._dropped: collections.deque[tuple[M, int]] = collections.deque()

    def take(self, size: int | None = None) -> M:
        """Memory that no array uses, of at least `size` bytes; None takes the largest there is, if any.

        Raises:
            Exception: those of `make`.
        """
        with self._lock:
            self._collect()
            for index, (memory, _) in enumerate(self._free):
                if memory.size >= (self._free[-1][0].size if size is None else size):
                    del self._free[index]
                    return memory
        return self._make(size or 1)

    def _collect(self) -> None:
        """Sorts what is free by size, and ends the smallest beyond the bound."""
        while self._dropped:
            self._free.append(self._dropped.popleft())
        self._free = [(memory, forks) for memory, forks in self._free if forks == len(_FORKS)]
        self._free.sort(key=lambda entry: entry[0].size)
        while sum(memory.size for memory, _ in self._free) > _MOST_KEPT_BYTES:
            self._end(self._free.pop(0)[0])

    def give_back(self, memory: M) -> None:
        """Takes back memory that no server and no array uses."""
        self._dropped.append((memory, len(_FORKS)))

    @contextlib.contextmanager
    def borrowed(self, memory: M) -> Iterator[None]:
        """For the time of a request: takes the memory back if the request fails and cannot write to it any more."""
        try:
            yield
        except BaseException as error:
            if not may_still_run(error):
                self.give_back(memory)
            raise

    def lend(self, memory: M, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The frames in the memory, without a copy; it is free when the last view of them is gone."""
        whole: npt.NDArray[np.uint8] = np.ndarray((memory.size,), np.uint8, memory.memory)
        weakref.finalize(whole, self._dropped.append, (memory, len(_FORKS))).atexit = False
        frames: npt.NDArray[Any] = np.ndarray(shape, dtype, whole)
        return frames
