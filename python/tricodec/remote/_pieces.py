# SPDX-License-Identifier: Apache-2.0
"""The parts of an object that were fetched, and those that are on their way."""

from __future__ import annotations

import bisect
import dataclasses
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, TimeoutError
from typing import Any

from tricodec._tricodec import check_interrupt

#: A gap between two announced ranges that is fetched with them: less than a request costs.
MAX_GAP_BYTES = 32 << 10
#: The most of one request; a longer range is fetched by several at once.
MAX_PIECE_BYTES = 4 << 20
#: Of a long range, what the first request takes. The next ones double it.
FIRST_PIECE_BYTES = 256 << 10
BETWEEN_CHECKS_S = 0.05


@dataclasses.dataclass(eq=False)
class _Piece:
    start: int
    end: int
    data: Future[Any] = dataclasses.field(default_factory=Future)
    is_read: bool = False

    def __len__(self) -> int:
        return self.end - self.start


class Pieces:
    """Ranges of bytes that do not overlap, fetched by threads and kept up to a bound.

    The threads are daemons. The interpreter joins those of a ThreadPoolExecutor at its end: after Ctrl-C a program
    would wait for all requests that a slow server was asked for.

    Thread safety: safe.
    """

    def __init__(self, fetch: Callable[[int, int], Any], *, num_threads: int, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._fetch = fetch
        self._piece_bytes = min(MAX_PIECE_BYTES, max_bytes // 4)
        self._most_threads, self._num_threads = num_threads, 0
        self._lock = threading.Lock()
        self._starts: list[int] = []
        self._pieces: OrderedDict[int, _Piece] = OrderedDict()  # by their starts; the one used last is the last one
        self._waiting: deque[_Piece] = deque()  # for a thread
        self._planned: deque[tuple[int, int]] = deque()
        self._held_bytes = 0

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
            self._pieces.move_to_end(piece.start)
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
        """Drops the requests that no thread has sent. Those on their way are not waited for."""
        with self._lock:
            self._planned.clear()
            while self._waiting:
                piece = self._waiting.popleft()
                piece.data.cancel()
                self._forget(piece)

    def _at(self, position: int) -> _Piece | None:
        i = bisect.bisect_right(self._starts, position) - 1
        if i < 0:
            return None
        piece = self._pieces[self._starts[i]]
        return piece if position < piece.end else None

    def _request(self, start: int, end: int, most: int) -> None:
        while start < end:
            piece = self._at(start)
            if piece is None:
                i = bisect.bisect_right(self._starts, start)
                stop = min(end, start + most, self._starts[i] if i < len(self._starts) else end)
                piece = _Piece(start, stop)
                self._make_room(len(piece))
                self._pieces[start] = piece
                bisect.insort(self._starts, start)
                self._held_bytes += len(piece)
                self._waiting.append(piece)
                if self._num_threads < self._most_threads:
                    self._num_threads += 1
                    threading.Thread(target=self._work, name="tricodec-remote", daemon=True).start()
            start = piece.end

    def _work(self) -> None:
        """Of a thread, which ends when nothing waits: a thread costs far less than a request."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._num_threads -= 1
                    return
                piece = self._waiting.popleft()
            try:
                piece.data.set_result(self._fetch(piece.start, piece.end))
            except BaseException as error:  # for the reader that waits for it
                piece.data.set_exception(error)

    def _advance(self) -> None:
        """Requests what is planned next. Half of the bound is for what was not read yet."""
        if not self._planned:
            return
        ahead = sum(len(piece) for piece in self._pieces.values() if not piece.is_read)
        while self._planned and ahead < self.max_bytes // 2:
            start, end = self._planned.popleft()
            self._request(start, end, self._piece_bytes)
            ahead += end - start

    def _make_room(self, size: int) -> None:
        for piece in list(self._pieces.values()):
            if self._held_bytes + size <= self.max_bytes:
                return
            if piece.is_read and piece.data.done():
                self._forget(piece)

    def _forget(self, piece: _Piece) -> None:
        if self._pieces.get(piece.start) is not piece:
            return
        del self._pieces[piece.start]
        self._starts.remove(piece.start)
        self._held_bytes -= len(piece)


def _result(data: Future[Any]) -> Any:
    """The result, for which a read that Ctrl-C has ended does not wait."""
    while not data.done():
        try:
            data.exception(BETWEEN_CHECKS_S)
        except TimeoutError:
            check_interrupt()
    return data.result()
