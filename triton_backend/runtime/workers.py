# SPDX-License-Identifier: Apache-2.0
"""The tasks of a model, which the node of the machine does: at most so many at a time as the model may have workers."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tricodec.node import NodeLostError, connect
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.runtime.errors import Failure, cancelled, failure_of, failure_of_node
from tricodec.triton_backend.runtime.flow import Suspended
from tricodec.triton_backend.runtime.metrics import Metrics
from tricodec.triton_backend.runtime.settings import Settings

_SMALL_BYTES = 1 << 20
"""Of media that are sent at once: to hand them to a thread takes as long."""
_NUM_AHEAD = 2
"""Tasks that wait in the node for its next free process, unless the model has a number of workers of its own."""
_NUM_ANSWERING = 2
"""Threads that send outcomes while the node does the next tasks."""
# How often a waiting thread looks whether the client has gone away: each look costs stub and server 0.2 ms.
_POLL_SECONDS = 0.05


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """A task with its bytes and its client.

    Attributes:
        task: the request, see `tricodec.node.tasks.Task`. For messages it has DOING, "decoding", and SHORTEN, the
            remedy if it takes too long.
        data: its bytes, bytes-like; or a RemoteSource.
        cancelled: whether the answer is no longer wanted.
        give: takes each part of an outcome but the last, and returns None, or with what the task ends; None for tasks
            of one part.
        pin: names the session of the task, which is finished even if it was cancelled; "" for other tasks.
    """

    task: Any
    data: Any
    cancelled: Callable[[], bool]
    give: Callable[[Outcome], Failure | Suspended | None] | None = None
    pin: str = ""


class Workers:
    """Hands tasks to the node. Thread safety: safe."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        """Connects to the node that TRICODEC_NODE names, or to one that this server's models share."""
        self._settings, self._metrics = settings, metrics
        self._node = connect(_socket(), start=True)
        self._changed = threading.Condition()
        self._pending = 0
        self._most_asked = settings.num_workers + (0 if settings.workers else _NUM_AHEAD)
        self._slots = threading.Semaphore(self._most_asked)
        self._threads = ThreadPoolExecutor(self._most_asked + _NUM_ANSWERING, "tricodec-task")

    def submit(self, work: Work, done: Callable[[Any], None]) -> None:
        """Queues one task. Another thread calls `done`, which must not raise, with the last part or a Failure."""
        with self._changed:
            self._pending += 1
            is_next = self._pending <= self._most_asked
        asked, is_small = None, isinstance(work.data, bytes) and len(work.data) <= _SMALL_BYTES
        if is_next and is_small and self._slots.acquire(blocking=False):
            try:
                asked = self._ask(work)
            except Exception:  # the thread meets it again
                self._slots.release()
        self._threads.submit(self._run, work, done, asked)

    @property
    def num_waiting(self) -> int:
        """Tasks that wait; below 0 the number that could be done now."""
        with self._changed:
            return self._pending - self._settings.num_workers

    def wait_for_room(self) -> None:
        """Waits until a task could be done, so that requests wait in Triton's queue with its limits, not in ours."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending < self._settings.num_workers)

    def forget(self, pin: str) -> None:
        """Frees what the tasks of a pin have left in the node."""
        self._node.forget(pin)

    def close(self) -> None:
        """Finishes what is queued."""
        self._threads.shutdown()

    def _run(self, work: Work, done: Callable[[Any], None], asked: Any) -> None:
        if asked is None:
            self._slots.acquire()
        outcome = self._outcome(work, asked)
        self._slots.release()
        with self._changed:
            self._pending -= 1
            self._changed.notify_all()
        done(outcome)

    def _ask(self, work: Work) -> Any:
        settings = self._settings
        return self._node.submit(
            work.task, settings, work.data, device=settings.device, threads=settings.threads,
            limits=settings.limits, pin=work.pin, timeout_s=settings.timeout_ms / 1000,
        )  # fmt: skip

    def _outcome(self, work: Work, asked: Any) -> Any:
        """The outcome of a task, or a Failure; `asked` if the node has the task already."""
        if asked is None and work.cancelled():
            return cancelled()
        try:
            for is_last_try in (False, True):
                try:
                    return self._receive(asked or self._ask(work), work)
                except NodeLostError as error:
                    asked = None
                    if is_last_try or work.pin or work.give is not None:
                        return Failure("UnavailableError", f"{error}; send the request again", "crash")
        except Exception as error:  # such as no memory for the bytes
            return failure_of(error)

    def _receive(self, asked: Any, work: Work) -> Any:
        """The outcome of a task that the node does, or its last part."""
        end: Any = None  # with what it ends, though the node has not ended it yet
        while True:
            said = asked.get(_POLL_SECONDS)
            if said is None:
                if end is None and not work.pin and work.cancelled():
                    end = cancelled()
                    asked.tell("cancel")
            elif said.failure is not None:
                failure = self._failure(said.failure, work)
                return end or failure
            elif said.is_last:
                return end or said.outcome
            elif end is None:
                end = self._given(said.outcome, work)
                del said  # so that its memory is free before the next part comes
                asked.tell("next" if end is None else "enough" if isinstance(end, Suspended) else "cancel")

    @staticmethod
    def _given(outcome: Any, work: Work) -> Any:
        """Gives a part to the client; returns with what the task ends, or None."""
        assert work.give is not None
        try:
            return work.give(outcome) or (cancelled() if work.cancelled() else None)
        except Exception as error:  # such as no shared memory left for the outputs
            return failure_of(error)

    def _failure(self, described: dict[str, Any], work: Work) -> Failure:
        why = described.get("why")
        if why is not None:
            self._metrics.count("worker_restarts_total", reason=why)
        if why == "timeout":
            return Failure(
                "TimeoutError",
                f"{work.task.DOING} took longer than {self._settings.timeout_ms} ms (parameter timeout_ms of the "
                f"model) and was stopped; {work.task.SHORTEN}",
                why,
            )
        return failure_of_node(described)


def _socket() -> str:
    """The socket of the node: that of TRICODEC_NODE, or one that the models of a server have in common."""
    named = os.environ.get("TRICODEC_NODE", "off")
    if named not in ("off", "auto", ""):
        return named
    return str(Path(tempfile.gettempdir()) / f"tricodec-{os.getuid()}" / f"triton-{os.getppid()}.sock")
