# SPDX-License-Identifier: Apache-2.0
"""Slots at work: a thread each, with one queue before all of them or one before each."""

from __future__ import annotations

import collections
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tricodec.triton_backend.runtime.settings import num_cores
from tricodec.triton_backend.runtime.slots import Slot
from tricodec.triton_backend.runtime.task import Work

_Queued = tuple[Work, Callable[[Any], None]]

_RECENT_SECONDS = 0.05
"""A client that got an answer so recently is about to ask again: the tasks of others leave it its cores."""


class Pool:
    """Hands tasks to slots. Thread safety: safe."""

    def __init__(
        self, slots: Sequence[Slot], threads_per_task: int | None, num_open: int, *, shared_queue: bool = True
    ) -> None:
        """Opens slots, side by side.

        Args:
            slots: what works.
            threads_per_task: 0 shares the cores among the tasks being done; None leaves it to the library, which
                shares a GPU's engines.
            num_open: how many slots are opened now, at most; the others are when their first task comes.
            shared_queue: any slot may do any task; else submit() names the slot, which does its tasks in their order.

        Raises:
            RuntimeError: if a slot cannot be opened.
        """
        self._slots = slots
        self._threads_per_task = threads_per_task
        self._shared_queue = shared_queue
        self._queues: list[queue.SimpleQueue[_Queued | None]] = [queue.SimpleQueue() for _ in slots]
        self._waiting: collections.deque[_Queued] = collections.deque()  # before all slots
        self._idle: list[int] = []  # numbers of slots without a task, the latest at the end
        self._closed, self._changed = False, threading.Condition()
        self._pending = 0
        self._pending_before = 0  # when the last task began
        self._last_end = 0.0  # of a task
        self._opened = 0
        self._error: Exception | None = None
        # A slot's child process is tied to the life of the thread that starts it, so a slot keeps its thread.
        self._threads = [
            threading.Thread(target=self._work, args=(number, number < num_open), daemon=True)
            for number in range(len(slots))
        ]
        for thread in self._threads:
            thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._opened == min(num_open, len(slots)) or self._error is not None)
        if self._error is not None:
            self.close()
            raise RuntimeError(f"no worker could be started: {self._error}") from self._error

    def submit(self, work: Work, done: Callable[[Any], None], slot: int = 0) -> None:
        """Queues one task.

        Args:
            work: the task; its `give` is called from a thread of the pool.
            done: called from the same thread with the outcome, or its last part, or a Failure; must not raise.
            slot: number of the slot for the task, if the slots share no queue.
        """
        with self._changed:
            self._pending += 1
            if self._shared_queue:
                if not self._idle:
                    self._waiting.append((work, done))
                    return
                slot = self._idle.pop()
        self._queues[slot].put((work, done))

    @property
    def num_waiting(self) -> int:
        """Tasks that wait for a slot; below 0 the number of free slots."""
        with self._changed:
            return self._pending - len(self._slots)

    def wait_for_room(self) -> None:
        """Waits until a slot is free, so that requests wait in Triton's queue with its limits, not in ours."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending < len(self._slots))

    def close(self) -> None:
        """Finishes what is queued and ends all slots."""
        with self._changed:
            self._closed = True
            for number in self._idle if self._shared_queue else range(len(self._threads)):
                self._queues[number].put(None)
        for thread in self._threads:
            thread.join()

    def _next(self, number: int) -> _Queued | None:
        """The next task of a slot, when there is one; None at the end."""
        if self._shared_queue:
            with self._changed:
                if self._waiting:
                    return self._waiting.popleft()
                if self._closed:
                    return None
                self._idle.append(number)
        return self._queues[number].get()

    def _work(self, number: int, opens_now: bool) -> None:
        slot = self._slots[number]
        if opens_now:
            try:
                slot.open()
            except Exception as error:  # reported by __init__
                with self._changed:
                    self._error = error
                    self._changed.notify_all()
                return
            with self._changed:
                self._opened += 1
                self._changed.notify_all()
        try:
            while (queued := self._next(number)) is not None:
                self._run(slot, *queued)
                del queued  # its bytes
        finally:
            slot.close()

    def _run(self, slot: Slot, work: Work, done: Callable[[Any], None]) -> None:
        with self._changed:
            before = self._pending_before if time.monotonic() < self._last_end + _RECENT_SECONDS else 0
            busy = min(max(self._pending, before), len(self._slots))
            self._pending_before = self._pending
        threads = self._threads_per_task
        if threads == 0:
            threads = max(1, num_cores() // busy)
        try:
            done(slot.work(work, threads or 0))
            slot.recover()
        finally:
            with self._changed:
                self._pending -= 1
                self._last_end = time.monotonic()
                self._changed.notify_all()
