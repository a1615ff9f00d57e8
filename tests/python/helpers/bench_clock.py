# SPDX-License-Identifier: Apache-2.0
"""A clock that a test moves, and work of a known duration."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator

from tricodec.measure import bench


class FakeClock:
    """Time in seconds that passes only while a query works or a worker sleeps."""

    def __init__(self) -> None:
        self.time = 100.0

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    @property
    def clock(self) -> bench.Clock:
        return bench.Clock(lambda: self.time, self.sleep)

    def work(
        self, seconds: Iterable[float], done: bench.Done | None = None
    ) -> Callable[[], contextlib.AbstractContextManager[bench.Work]]:
        """Opens work with queries that take these seconds, again from the first after the last."""
        durations = itertools.cycle(seconds)

        @contextlib.contextmanager
        def open_work() -> Iterator[bench.Work]:
            def query() -> bench.Done:
                self.time += next(durations)
                return done or bench.Done()

            yield query

        return open_work
