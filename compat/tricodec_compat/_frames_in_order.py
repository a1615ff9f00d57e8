# SPDX-License-Identifier: Apache-2.0
"""Single frames of a reader as RGB, which programs ask for one after another.

With many cores a decoder gives a frame sooner than one thread converts it. So while a program asks for frames in order,
its thread only decodes, and a pool converts the frames that follow.
"""

from __future__ import annotations

import collections
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tricodec import Error, Frame, FrameReader
from tricodec.video import SwscaleRgb
from tricodec.video.cores import num_cores

_FRAMES_IN_ORDER = 8
"""Frames that were asked for in order before it is worth while."""
_FRAMES_AHEAD = 8
_FEWEST_CORES = 4

# The last one counts. A forked child has none of its parent's threads and makes a pool of its own.
_pools: list[ThreadPoolExecutor] = []
os.register_at_fork(after_in_child=_pools.clear)


def _pool() -> ThreadPoolExecutor:
    if not _pools:
        _pools.append(ThreadPoolExecutor(min(num_cores(), _FRAMES_AHEAD), "tricodec-rgb"))
    return _pools[-1]


class FramesInOrder:
    """The frames of a reader by one converter.

    Args:
        reader: of the frames.
        convert: makes a picture of a frame.
        num_workers: cores that this reader may use; 0 is all.

    Thread safety: calls from several threads take turns.
    """

    def __init__(self, reader: FrameReader, convert: SwscaleRgb, num_workers: int = 0) -> None:
        self._reader = reader
        self._convert = convert
        self._many_cores = (num_workers or num_cores()) >= _FEWEST_CORES
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._ahead: collections.deque[tuple[Frame, Future[Any]]] = collections.deque()
        self._next = -1  # the frame after the last one that was asked for
        self._num_in_order = 0
        self._num_frames: int | None = None

    def __getitem__(self, number: int) -> tuple[Frame, Any]:
        """A frame, and its picture [H, W, 3].

        Raises:
            Error: as ``FrameReader[number]`` does.
        """
        if self._pid != os.getpid():  # the threads of the process that was forked are not here
            self._pid, self._lock = os.getpid(), threading.Lock()
            self._ahead.clear()
        with self._lock:
            if number != self._next:
                self._ahead.clear()
                self._num_in_order = 0
            self._next, self._num_in_order = number + 1, self._num_in_order + 1
            if self._ahead:
                frame, job = self._ahead.popleft()
            else:
                frame, job = self._reader[number], None
            if self._many_cores and self._num_in_order > _FRAMES_IN_ORDER:
                self._convert_ahead()
        return frame, self._convert(frame) if job is None else job.result()

    def _convert_ahead(self) -> None:
        if self._num_frames is None:
            self._num_frames = len(self._reader)
        last = min(self._next + _FRAMES_AHEAD, self._num_frames)
        for number in range(self._next + len(self._ahead), last):
            try:
                frame = self._reader[number]
            except (IndexError, Error):  # the call for that frame reports it
                return
            self._ahead.append((frame, _pool().submit(self._convert, frame)))
