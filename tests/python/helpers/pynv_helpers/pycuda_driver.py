# SPDX-License-Identifier: Apache-2.0
"""Replaces ``pycuda.driver`` on machines without a GPU: "device" memory is host memory.

It has what programs around decoding use, checks its arguments as the original does, and keeps count of what it did.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import types
from typing import Any

import numpy as np
import numpy.typing as npt

_handles = itertools.count(0x5000_0000_0000, 0x1000)


class Context:
    """A context with an integer handle; remembers whether it is current and that only its owner destroyed it."""

    def __init__(self) -> None:
        self.handle = next(_handles)
        self.pushed = 0

    def push(self) -> None:
        self.pushed += 1

    def pop(self) -> None:
        self.pushed -= 1


class Device:
    def __init__(self, number: int) -> None:
        if number != 0:
            message = f"invalid device ordinal {number}"
            raise ValueError(message)

    def retain_primary_context(self) -> Context:
        return Context()


class Stream:
    def __init__(self) -> None:
        self.handle = next(_handles)
        self.num_synchronized = 0

    def synchronize(self) -> None:
        self.num_synchronized += 1


class Driver(types.ModuleType):
    """One of these a test: ``driver.copies`` holds the bytes of every copy to the host, in order."""

    Device = Device
    Stream = Stream

    def __init__(self) -> None:
        super().__init__("pycuda.driver")
        self.initialized = False
        self.copies: list[bytes] = []

    def init(self) -> None:
        self.initialized = True

    def pagelocked_empty(self, shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> npt.NDArray[Any]:
        return np.empty(shape, dtype, order)  # type: ignore[call-overload]

    def memcpy_dtoh(self, dest: npt.NDArray[Any], src: int) -> None:
        """Fills ``dest`` from the address ``src``."""
        if not isinstance(dest, np.ndarray) or not dest.flags.c_contiguous or not dest.flags.writeable:
            message = "dest must be a writable C-contiguous array"
            raise TypeError(message)
        if not isinstance(src, int) or src == 0:
            message = f"src must be an address, not {src!r}"
            raise TypeError(message)
        ctypes.memmove(dest.ctypes.data, src, dest.nbytes)
        self.copies.append(dest.tobytes())

    def memcpy_dtoh_async(self, dest: npt.NDArray[Any], src: int, stream: Stream) -> None:
        if not isinstance(stream, Stream):
            message = "stream must be a Stream"
            raise TypeError(message)
        self.memcpy_dtoh(dest, src)


def install(monkeypatch: Any) -> Driver:
    """Makes ``import pycuda.driver as cuda`` give a new stand-in."""
    driver = Driver()
    package = types.ModuleType("pycuda")
    package.driver = driver  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    return driver
