# SPDX-License-Identifier: Apache-2.0
"""A measurement that runs while a ``with`` block runs, and keeps its latest events."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, SupportsIndex, TypeVar

from tricodec import _tricodec

if TYPE_CHECKING:
    from typing_extensions import Self

NativeT = TypeVar("NativeT", _tricodec.Profiler, _tricodec.MemoryTracker)
"""Runs from its construction on."""


class Measurement(Generic[NativeT]):
    """A context manager that measures until its block ends. Each ``with`` begins a new measurement."""

    def __init__(self, begin: Callable[[int], NativeT], max_events: SupportsIndex, purpose: str = "") -> None:
        """Takes the number of events to keep. With a purpose it must be one at least."""
        self._begin: Callable[[int], NativeT] = begin
        self._native: NativeT | None = None
        self._max_events = operator.index(max_events)
        least = 1 if purpose else 0
        if self._max_events < least:
            raise ValueError(
                f"max_events is {self._max_events}; it must be {least} or more, the number of the latest events to "
                f"keep{purpose}"
            )

    def __enter__(self) -> Self:
        self._native = self._begin(self._max_events)
        return self

    def __exit__(self, *_: object) -> None:
        self._started().stop()

    @property
    def dropped_events(self) -> int:
        """Number of events that were not kept."""
        return self._started().num_dropped_events()

    def _started(self) -> NativeT:
        if self._native is None:
            name = type(self).__name__
            msg = f"the {name} has not been started; use it as a context manager: with tricodec.measure.{name}()"
            raise RuntimeError(msg)
        return self._native
