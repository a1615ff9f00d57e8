# SPDX-License-Identifier: Apache-2.0
"""The memory that brings what a worker makes, mostly frames, to its stub.

A worker writes into a memory file, which the stub maps. Files go back and are used again, because fresh pages cost
about 0.7 ms a megabyte, as much as decoding into them. With each request the stub lists the files that it has released.
With each answer the worker names the file that it used, and lists the returned files that it has closed.
"""

from __future__ import annotations

import collections
import dataclasses
import mmap
import os
import weakref
from typing import Any

from tricodec.triton_backend.runtime import channel

_MOST_KEPT_BYTES = 256 << 20
"""Larger files are used once: a worker holds little memory between requests."""

_ROUND_BYTES = 1 << 20


@dataclasses.dataclass(slots=True)
class FrameFile:
    """A memory file of a worker's.

    Attributes:
        number: names it between worker and stub, as long as the worker lives.
        descriptor: of the file.
        memory: all of it, writable.
        known: the stub has it mapped.
    """

    number: int
    descriptor: int
    memory: mmap.mmap
    known: bool = False


class FrameFiles:
    """The worker's side: files to write to."""

    def __init__(self) -> None:
        """Has no file."""
        self._last_number = 0
        self._lent: dict[int, FrameFile] = {}  # the stub has them
        self._free: dict[int, FrameFile] = {}  # the stub knows them
        self._closed: list[int] = []

    def accept(self, released: list[int]) -> None:
        """Takes back files that the stub has released, by their numbers."""
        self._free.update((number, self._lent.pop(number)) for number in released)

    def take(self, size: int) -> FrameFile:
        """A file of at least `size` bytes: the smallest free one that is large enough, or a new one.

        The other free ones are closed.
        """
        fitting = [file for file in self._free.values() if len(file.memory) >= size]
        chosen = min(fitting, key=lambda file: len(file.memory), default=None)
        for file in self._free.values():
            if file is not chosen:
                os.close(file.descriptor)  # the mapping goes with its last array
                self._closed.append(file.number)
        self._free.clear()
        return chosen or self._make(size)

    def give_back(self, file: FrameFile) -> None:
        """Takes back an unused file."""
        if file.known:
            self._free[file.number] = file
        else:
            os.close(file.descriptor)

    def announce(self, file: FrameFile) -> tuple[dict[str, Any], int | None]:
        """The answer's description of the file with its frames, and its descriptor if the stub needs it."""
        closed, self._closed = self._closed, []
        kept = len(file.memory) <= _MOST_KEPT_BYTES
        descriptor = None if file.known else file.descriptor
        if kept:
            file.known = True
            self._lent[file.number] = file
        return {"number": file.number, "kept": kept, "closed": closed}, descriptor

    def sent(self, file: FrameFile) -> None:
        """Closes the file of an answer that is on its way, unless it is kept."""
        if file.number not in self._lent:
            os.close(file.descriptor)

    def _make(self, size: int) -> FrameFile:
        length = -(-size // _ROUND_BYTES) * _ROUND_BYTES
        descriptor = os.memfd_create("tricodec-frames", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, length)
            memory = mmap.mmap(descriptor, length)
        except BaseException:
            os.close(descriptor)
            raise
        self._last_number += 1
        return FrameFile(self._last_number, descriptor, memory)


class FrameMappings:
    """The stub's side: the files of one worker, mapped for reading."""

    def __init__(self) -> None:
        """Knows no file."""
        self._memory: dict[int, mmap.mmap] = {}
        self._in_use: set[int] = set()
        # Arrays are dropped on any thread; a deque may be appended to on all of them.
        self._dropped: collections.deque[int] = collections.deque()

    def released(self) -> list[int]:
        """Numbers of the files without readers, which the worker must learn once."""
        numbers = []
        while self._dropped:
            numbers.append(self._dropped.popleft())
        self._in_use.difference_update(numbers)
        return numbers

    def map(self, announced: dict[str, Any], descriptor: int | None, size: int) -> tuple[mmap.mmap, int | None]:
        """The memory of an answer's frames, and the number to give to watch() if the file is kept.

        Args:
            announced: what FrameFiles.announce() returned.
            descriptor: of the file if it came with the answer; the caller closes it.
            size: bytes that the frames need.

        Raises:
            ValueError, OSError: if the description is not valid; the worker is then not trusted any more.
        """
        number, kept = int(announced["number"]), bool(announced["kept"])
        for closed in announced["closed"]:
            self._memory.pop(int(closed), None)
        if descriptor is not None:
            memory = channel.map_sealed(descriptor, None if kept else size)
        elif number in self._memory and number not in self._in_use:
            memory = self._memory[number]
        else:
            raise ValueError(f"an answer names the file {number}, which is not there or still read")
        if len(memory) < size:
            raise ValueError(f"a worker's memory file has {len(memory)} bytes, {size} were announced")
        if not kept:
            return memory, None
        self._memory[number] = memory
        self._in_use.add(number)
        return memory, number

    def watch(self, array: Any, number: int | None) -> None:
        """Counts the file as released when the array and all views of it are gone."""
        if number is not None:
            weakref.finalize(array, self._dropped.append, number).atexit = False
