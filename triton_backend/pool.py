# SPDX-License-Identifier: Apache-2.0
"""Slots at work: a thread each, one queue before them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

from tricodec.triton_backend.errors import Failure
from tricodec.triton_backend.settings import num_cores
from tricodec.triton_backend.slots import Decoded, Slot
from tricodec.triton_backend.task import DecodeTask

_Job = tuple[DecodeTask, bytes, Callable[[], bool], Callable[["Decoded | Failure"], None]]


class Pool:
    """Hands videos to slots. Thread safety: safe."""

    def __init__(self, slots: Sequence[Slot], threads_per_video: int | None) -> None:
        """Opens all slots, side by side.

        Args:
            slots: what decodes.
            threads_per_video: 0 shares the cores among the videos being decoded; None leaves it to the reader, which
                shares a GPU's engines.

        Raises:
            RuntimeError: if a slot cannot be opened.
        """
        self._slots = slots
        self._threads_per_video = threads_per_video
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._pending = 0
        self._opened = 0
        self._error: Exception | None = None
        # A slot's child process is tied to the life of the thread that starts it, so a slot keeps its thread.
        self._threads = [threading.Thread(target=self._work, args=(slot,), daemon=True) for slot in slots]
        for thread in self._threads:
            thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._opened == len(slots) or self._error is not None)
        if self._error is not None:
            self.close()
            raise RuntimeError(f"no worker could be started: {self._error}") from self._error

    def submit(
        self,
        task: DecodeTask,
        video: bytes,
        cancelled: Callable[[], bool],
        done: Callable[[Decoded | Failure], None],
    ) -> None:
        """Queues one video.

        Args:
            task: what is asked of it.
            video: the encoded file.
            cancelled: whether the answer is no longer wanted.
            done: called with the outcome from a thread of the pool; must not raise.
        """
        with self._changed:
            self._pending += 1
        self._queue.put((task, video, cancelled, done))

    def wait_for_room(self) -> None:
        """Waits until a slot is free, so that requests wait in Triton's queue with its limits, not in ours."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending < len(self._slots))

    def close(self) -> None:
        """Finishes what is queued and ends all slots."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, slot: Slot) -> None:
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
            while (job := self._queue.get()) is not None:
                self._decode(slot, *job)
                del job  # the video's bytes
        finally:
            slot.close()

    def _decode(
        self,
        slot: Slot,
        task: DecodeTask,
        video: bytes,
        cancelled: Callable[[], bool],
        done: Callable[[Decoded | Failure], None],
    ) -> None:
        with self._changed:
            busy = min(self._pending, len(self._slots))
        threads = self._threads_per_video
        if threads == 0:
            threads = max(1, num_cores() // busy)
        try:
            done(slot.decode(task, video, threads or 0, cancelled))
        finally:
            with self._changed:
                self._pending -= 1
                self._changed.notify_all()
