# SPDX-License-Identifier: Apache-2.0
"""A measurement that runs while a ``with`` block runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self


class Native(Protocol):
    """A measurement of the native module, which runs from its construction on."""

    def stop(self) -> None: ...


NativeT = TypeVar("NativeT", bound=Native)


class Measurement(ABC, Generic[NativeT]):
    """A context manager that measures until its block ends. Each ``with`` begins a new measurement."""

    def __init__(self) -> None:
        self._native: NativeT | None = None

    @abstractmethod
    def _begin(self) -> NativeT: ...

    def __enter__(self) -> Self:
        self._native = self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._started().stop()

    def _started(self) -> NativeT:
        if self._native is None:
            name = type(self).__name__
            msg = f"the {name} has not been started; use it as a context manager: with tricodec.measure.{name}()"
            raise RuntimeError(msg)
        return self._native
