# SPDX-License-Identifier: Apache-2.0
"""The parts of an object that were fetched, and those that are on their way."""

from __future__ import annotations

import bisect
import dataclasses
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, TimeoutError
from typing import Any

from tricodec._remote._threads import FetchThreads
from tricodec._tricodec import check_interrupt

#: A gap between two announced ranges that is fetched with them: less than a request costs.
MAX_GAP_BYTES = 32 << 10
#: The most of one request; a longer range is fetched by several at once.
MAX_PIECE_BYTES = 4 << 20
#: Of a long range, what the first request takes. The next ones double it.
FIRST_PIECE_BYTES = 256 << 10
BETWEEN_CHECKS_S = 0.05


@dataclasses.dataclass
class _Piece:
    start: int
    end: int
    data: Future[Any]
    used: int
    is_read: bool = False


class Pieces:
    """Ranges of bytes that do not overlap, fetched by threads and kept up to a bound.

    Thread safety: safe.
    """

    def __init__(self, fetch: Callable[[int, int], Any], *, num_threads: int, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._fetch = fetch
        self._piece_bytes = min(MAX_PIECE_BYTES, max_bytes // 4)
        self._threads = FetchThreads(num_threads, "tricodec-remote")
        self._lock = threading.Lock()
        self._starts: list[int] = []
        self._pieces: dict[int, _Piece] = {}
        self._planned: deque[tuple[int, int]] = deque()
        self._held_bytes = 0
        self._clock = 0

    def plan(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetches ranges (offset, size) ahead, in their order, as far as the bound allows."""
        merged: list[list[int]] = []
        for offset, size in ranges:
            if merged and 0 <= offset - merged[-1][1] <= MAX_GAP_BYTES:
                merged[-1][1] = max(merged[-1][1], offset + size)
            elif size > 0:
                merged.append([offset, offset + size])
        planned: deque[tuple[int, int]] = deque()
        for start, end in merged:
            # The first bytes of a long read come soon: they share the line with few others.
            size = FIRST_PIECE_BYTES if not planned and end - start > self._piece_bytes else self._piece_bytes
            position = start
            while position < end:
                planned.append((position, min(position + size, end)))
                position += size
                size = min(2 * size, self._piece_bytes)
        with self._lock:
            self._planned = planned
            self._advance()

    @property
    def held_bytes(self) -> int:
        """Bytes that are kept, or on their way."""
        with self._lock:
            return self._held_bytes

    def request(self, start: int, end: int, most: int = MAX_PIECE_BYTES) -> None:
        """Fetches what is missing of [start, end), by requests of at most so many bytes."""
        with self._lock:
            self._request(start, end, min(most, self._piece_bytes))

    def covered_until(self, position: int) -> int:
        """The end of the pieces that touch each other from `position` on, or `position`."""
        with self._lock:
            while (piece := self._at(position)) is not None:
                position = piece.end
            return position

    def view(self, position: int) -> memoryview | None:
        """Bytes from `position` on, at least one; None if they were not requested."""
        with self._lock:
            piece = self._at(position)
            if piece is None:
                return None
            self._clock += 1
            piece.used = self._clock
            piece.is_read = True
            self._advance()
        try:
            data = memoryview(_result(piece.data))
        except BaseException:
            with self._lock:
                if piece.data.done():  # else Ctrl-C ended the wait
                    self._forget(piece)
            raise
        return data[position - piece.start :]

    def close(self) -> None:
        """Ends the threads; what is on its way is not waited for."""
        self._threads.close()

    def _at(self, position: int) -> _Piece | None:
        i = bisect.bisect_right(self._starts, position) - 1
        if i < 0:
            return None
        piece = self._pieces[self._starts[i]]
        return piece if position < piece.end else None

    def _request(self, start: int, end: int, most: int) -> None:
        while start < end:
            piece = self._at(start)
            if piece is not None:
                start = piece.end
                continue
            i = bisect.bisect_right(self._starts, start)
            stop = min(end, start + most, self._starts[i] if i < len(self._starts) else end)
            self._make_room(stop - start)
            self._clock += 1
            self._pieces[start] = _Piece(start, stop, self._threads.submit(self._fetch, start, stop), self._clock)
            bisect.insort(self._starts, start)
            self._held_bytes += stop - start
            start = stop

    def _advance(self) -> None:
        """Requests what is planned next. Half of the bound is for what was not read yet."""
        if not self._planned:
            return
        ahead = sum(piece.end - piece.start for piece in self._pieces.values() if not piece.is_read)
        while self._planned and ahead < self.max_bytes // 2:
            start, end = self._planned.popleft()
            self._request(start, end, self._piece_bytes)
            ahead += end - start

    def _make_room(self, size: int) -> None:
        if self._held_bytes + size <= self.max_bytes:
            return
        for piece in sorted(self._pieces.values(), key=lambda each: each.used):
            if self._held_bytes + size <= self.max_bytes:
                return
            if piece.is_read and piece.data.done():
                self._forget(piece)

    def _forget(self, piece: _Piece) -> None:
        if self._pieces.get(piece.start) is not piece:
            return
        del self._pieces[piece.start]
        self._starts.remove(piece.start)
        self._held_bytes -= piece.end - piece.start


def _result(data: Future[Any]) -> Any:
    """What it comes to. A read that Ctrl-C has ended does not wait for it."""
    while not data.done():
        try:
            data.exception(BETWEEN_CHECKS_S)
        except TimeoutError:
            check_interrupt()
    return data.result()
