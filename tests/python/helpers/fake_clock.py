# SPDX-License-Identifier: Apache-2.0
"""A clock that moves only when a test says so."""

from __future__ import annotations

import threading


class FakeClock:
    """Time in seconds for objects that take a `clock`. What waits on it wakes when time or its condition changes."""

    def __init__(self) -> None:
        self._now = 0.0
        self._changed = threading.Condition()
        self._waiting: list[tuple[threading.Condition, float | None]] = []

    def now(self) -> float:
        """See tricodec's Clock."""
        with self._changed:
            return self._now

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """See tricodec's Clock."""
        with self._changed:
            entry = (condition, None if seconds is None else self._now + seconds)
            self._waiting.append(entry)
            self._changed.notify_all()
        try:
            condition.wait()
        finally:
            with self._changed:
                self._waiting.remove(entry)

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake what waits."""
        with self._changed:
            self._now += seconds
            conditions = {id(condition): condition for condition, _ in self._waiting}
        for condition in conditions.values():
            with condition:
                condition.notify_all()

    def until_waits(self, deadline: float | None) -> None:
        """Returns when a thread waits until `deadline`; None is a wait without bound."""
        with self._changed:
            found = self._changed.wait_for(lambda: any(until == deadline for _, until in self._waiting), timeout=20)
            assert found, f"no thread waits until {deadline}; there are: {[until for _, until in self._waiting]}"
