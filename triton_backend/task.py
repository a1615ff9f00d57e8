# SPDX-License-Identifier: Apache-2.0
"""What a model asks of its workers: the contract between models, the stub's slots and the worker processes.

A task is the work for one item of a request. Opened with the item's bytes it is one job, or one after another where
the outcome is given in parts. A job knows how much memory its outcome takes; a block says where in that memory the
outcome lies. Tasks and blocks are dataclasses of JSON values, for they pass between processes.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

import numpy.typing as npt
from tricodec.triton_backend.settings import Settings


class Block(Protocol):
    """Where a job's outcome lies in a memory file; a dataclass of JSON values."""

    @property
    def total_bytes(self) -> int:
        """How much of the file it takes, at least 1: an empty file cannot be mapped."""

    def read(self, memory: mmap.mmap) -> tuple[Any, npt.NDArray[Any]]:
        """The outcome, and the array in the file that it stands on: while that lives, the file is not written."""


class Job(Protocol):
    """An opened task."""

    @property
    def block(self) -> Any:
        """Its Block."""

    def write(self, memory: mmap.mmap) -> None:
        """Writes the outcome to where `block` says."""

    def outcome(self) -> Any:
        """What `block.read` gives after `write`, in memory of its own."""


class Task(Protocol):
    """What is asked of one item of a request; a dataclass of JSON values.

    Attributes:
        KIND: its key in tasks.TASKS.
        DOING: for people: "decoding".
        SHORTEN: what to do about a task that takes too long, for people.
    """

    KIND: ClassVar[str]
    DOING: ClassVar[str]
    SHORTEN: ClassVar[str]

    def open(self, data: Any, settings: Settings, num_threads: int) -> AbstractContextManager[Iterable[Job]]:
        """Begins with it: its jobs, each to be done before the next one is taken.

        Args:
            data: the item's bytes, bytes-like.
            settings: of the model.
            num_threads: that are this task's share; 0 leaves it to the library.
        """

    @staticmethod
    def read_block(described: dict[str, Any]) -> Block:
        """The block that a worker described.

        Raises:
            KeyError, TypeError, ValueError: if it makes no sense; the worker is not to be trusted then.
        """


def marked(jobs: Iterable[Job]) -> Iterator[tuple[Job, bool]]:
    """Each job, and whether it is the last one."""
    following = iter(jobs)
    job = next(following)
    for after in following:
        yield job, False
        job = after
    yield job, True
