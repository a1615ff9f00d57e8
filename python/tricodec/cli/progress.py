# SPDX-License-Identifier: Apache-2.0
"""A progress bar on standard error, only if that is a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_WIDTH = 30
_INTERVAL_SECONDS = 0.1


class Progress:
    """Counts work of a known or unknown length; silent unless standard error is a terminal."""

    def __init__(self, label: str, total: int | None = None) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._start = time.monotonic()
        self._shown = 0.0
        self._visible = sys.stderr.isatty()

    def advance(self, count: int = 1) -> None:
        """Counts `count` more."""
        self._done += count
        now = time.monotonic()
        if self._visible and (now - self._shown >= _INTERVAL_SECONDS or self._done == self._total):
            self._shown = now
            sys.stderr.write("\r" + self._line(now) + "\x1b[K")
            sys.stderr.flush()

    def _line(self, now: float) -> str:
        rate = self._done / max(now - self._start, 1e-6)
        if not self._total:
            return f"{self._label} {self._done} ({rate:.0f}/s)"
        filled = _WIDTH * self._done // self._total
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"{self._label} [{bar}] {self._done}/{self._total} ({rate:.0f}/s)"

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._visible and self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
