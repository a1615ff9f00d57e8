# SPDX-License-Identifier: Apache-2.0
"""Replaces ``pycuda.driver`` on machines without a GPU: "device" memory is host memory.

It has what programs around decoding use, and checks its arguments as the original does.
"""

from __future__ import annotations

import ctypes
import itertools
import types
from typing import Any

import numpy as np
import numpy.typing as npt

_handles = itertools.count(0x5000_0000_0000, 0x1000)


class Error(Exception):
    """An error of the driver."""


class Context:
    """A context with an integer handle."""

    def __init__(self) -> None:
        self.handle = next(_handles)

    def push(self) -> None:
        """Makes it current."""

    def pop(self) -> None:
        """Makes the one before current."""

    @staticmethod
    def synchronize() -> None:
        """Work is done at once."""


class Device:
    def __init__(self, number: int) -> None:
        if number != 0:
            message = f"invalid device ordinal {number}"
            raise ValueError(message)

    @staticmethod
    def count() -> int:
        return 1

    def name(self) -> str:
        return "host memory"

    def retain_primary_context(self) -> Context:
        return Context()


class Stream:
    def __init__(self) -> None:
        self.handle = next(_handles)

    def synchronize(self) -> None:
        """Work is done at once."""


class DeviceAllocation:
    """Memory of which ``int()`` is the address."""

    def __init__(self, size: int) -> None:
        self._memory = ctypes.create_string_buffer(size)

    def __int__(self) -> int:
        return ctypes.addressof(self._memory)

    def free(self) -> None:
        """The memory goes with the object."""


class Driver(types.ModuleType):
    """What programs import as ``pycuda.driver``."""

    Context = Context
    Device = Device
    DeviceAllocation = DeviceAllocation
    Error = Error
    Stream = Stream

    def __init__(self) -> None:
        super().__init__("pycuda.driver")

    def init(self) -> None:
        """There is nothing to start."""

    def mem_alloc(self, size: int) -> DeviceAllocation:
        return DeviceAllocation(size)

    def memcpy_htod(self, dest: DeviceAllocation | int, src: Any) -> None:
        """Fills ``dest`` from the bytes of an array."""
        data = bytes(src)
        ctypes.memmove(int(dest), data, len(data))

    def memcpy_dtoh(self, dest: npt.NDArray[Any], src: DeviceAllocation | int) -> None:
        """Fills ``dest`` from the address ``src``."""
        src = int(src) if isinstance(src, DeviceAllocation) else src
        if not isinstance(dest, np.ndarray) or not dest.flags.c_contiguous or not dest.flags.writeable:
            message = "dest must be a writable C-contiguous array"
            raise TypeError(message)
        if not isinstance(src, int) or src == 0:
            message = f"src must be an address, not {src!r}"
            raise TypeError(message)
        ctypes.memmove(dest.ctypes.data, src, dest.nbytes)
