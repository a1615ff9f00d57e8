# SPDX-License-Identifier: Apache-2.0
"""What a model asks of its workers: the contract between models, the stub's slots and the worker processes.

A task is the work for one item of a request. Opened with the item's bytes it is one job, or several in sequence if the
outcome is given in parts. A job knows how much memory its outcome takes. Tasks are dataclasses of JSON values, because
they pass between processes.
"""

from __future__ import annotations

import dataclasses
import importlib
import mmap
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from tricodec.triton_backend.runtime.block import Block, Outcome
from tricodec.triton_backend.runtime.errors import Failure
from tricodec.triton_backend.runtime.flow import Suspended
from tricodec.triton_backend.runtime.settings import Settings


class Job(Protocol):
    """An opened task."""

    @property
    def block(self) -> Block:
        """Where `write` writes; after it, where the outcome lies."""

    def write(self, memory: mmap.mmap) -> None:
        """Writes the outcome to where `block` says."""

    def outcome(self) -> Outcome:
        """The outcome in new memory."""


class Task(Protocol):
    """What is asked of one item of a request; a dataclass of JSON values.

    Attributes:
        DOING: for messages: "decoding".
        SHORTEN: the remedy for a task that takes too long, for messages.
    """

    DOING: ClassVar[str]
    SHORTEN: ClassVar[str]

    def open(self, data: Any, settings: Settings, num_threads: int) -> AbstractContextManager[Iterable[Job]]:
        """Begins the task: its jobs, each to be done before the next one is taken.

        Args:
            data: the item's bytes, bytes-like, a path, or a tricodec.remote.RemoteSource.
            settings: of the model.
            num_threads: this task's share; 0 leaves it to the library.
        """


class TaskInParts(Task, Protocol):
    """A task with an outcome of several parts."""

    def rest(self, facts: dict[str, Any], num_frames: int, given: dict[str, Any]) -> Task:
        """What is left of the task after it was suspended.

        Args:
            facts: of the first part that was not given.
            num_frames: frames that were given.
            given: the facts of the last part that was given; empty if there was none.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """A task with its bytes and its client.

    Attributes:
        task: the request.
        data: its bytes, bytes-like; a Url if they are elsewhere.
        cancelled: whether the answer is no longer wanted.
        give: takes each part of an outcome but the last, and returns None, or with what the task ends; None for tasks
            of one part.
        keeps_state: the worker keeps something for later tasks, so that it finishes a task that was cancelled.
    """

    task: Task
    data: Any
    cancelled: Callable[[], bool]
    give: Callable[[Outcome], Failure | Suspended | None] | None = None
    keeps_state: bool = False


def describe(task: Task) -> dict[str, Any]:
    """A task as JSON values, for a worker."""
    kind = type(task)
    names = [field.name for field in dataclasses.fields(task)]  # type: ignore[arg-type]  # every Task is a dataclass
    values = {name: getattr(task, name) for name in names}
    return {"module": kind.__module__, "class": kind.__name__, "values": values}


def described_task(described: dict[str, Any]) -> Task:
    """The task that the stub described; the stub is trusted."""
    task: Task = getattr(importlib.import_module(described["module"]), described["class"])(**described["values"])
    return task


def marked(jobs: Iterable[Job]) -> Iterator[tuple[Job, bool]]:
    """Each job, and whether it is the last one."""
    following = iter(jobs)
    job = next(following)
    for after in following:
        yield job, False
        job = after
    yield job, True
