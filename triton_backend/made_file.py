# SPDX-License-Identifier: Apache-2.0
"""Files that tasks make, and facts of them, on their way from a worker to the stub."""

from __future__ import annotations

import dataclasses
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclasses.dataclass(frozen=True, slots=True)
class MadeFile:
    """A file and what there is to say of it.

    Attributes:
        data: its bytes, not to be written.
        facts: JSON values.
    """

    data: npt.NDArray[np.uint8]
    facts: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class FileBlock:
    """A file at the beginning of a memory file; see task.Block.

    Attributes:
        size: of the file.
        facts: JSON values.
    """

    size: int
    facts: dict[str, Any]

    @property
    def total_bytes(self) -> int:
        """See task.Block."""
        return max(1, self.size)

    def read(self, memory: mmap.mmap) -> tuple[MadeFile, npt.NDArray[Any]]:
        """See task.Block."""
        data: npt.NDArray[np.uint8] = np.ndarray((self.size,), np.uint8, memory)
        return MadeFile(data, self.facts), data


def read_file_block(described: dict[str, Any]) -> FileBlock:
    """See task.Task.read_block."""
    block = FileBlock(int(described["size"]), dict(described["facts"]))
    if block.size < 0:
        raise ValueError(f"an answer describes a file of {block.size} bytes")
    return block


@dataclasses.dataclass(frozen=True, slots=True)
class FileJob:
    """A file that is made, see task.Job: how long it is was not known before."""

    data: bytes
    facts: dict[str, Any]

    @property
    def block(self) -> FileBlock:
        """See task.Job."""
        return FileBlock(len(self.data), self.facts)

    def write(self, memory: mmap.mmap) -> None:
        """See task.Job."""
        memory[: len(self.data)] = self.data

    def outcome(self) -> MadeFile:
        """See task.Job."""
        return MadeFile(np.frombuffer(self.data, np.uint8), self.facts)
