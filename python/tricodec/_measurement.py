# SPDX-License-Identifier: Apache-2.0
"""What is measured between entering and leaving."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self


class Native(Protocol):
    """What measures, from its beginning on."""

    def stop(self) -> None:
        """Ends it; what was measured stays."""


NativeT = TypeVar("NativeT", bound=Native)


class Measurement(ABC, Generic[NativeT]):
    """A context manager that measures while it is entered, and anew when it is entered again."""

    def __init__(self) -> None:
        self._native: NativeT | None = None

    @abstractmethod
    def _begin(self) -> NativeT:
        """What measures from now on."""

    def __enter__(self) -> Self:
        """Start, or start anew."""
        self._native = self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop; what was measured stays."""
        self._started().stop()

    def _started(self) -> NativeT:
        if self._native is None:
            name = type(self).__name__
            msg = f"the {name} has not been started; use it as a context manager: with tricodec.{name}() as measured"
            raise RuntimeError(msg)
        return self._native
