# SPDX-License-Identifier: Apache-2.0
"""Replaces ``pycuda.driver`` on machines without a GPU: "device" memory is host memory.

It has what programs around decoding use, checks its arguments as the original does, and keeps count of what it did.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import sys
import types
from typing import Any

import numpy as np
import numpy.typing as npt

_handles = itertools.count(0x5000_0000_0000, 0x1000)


class Error(Exception):
    """An error of the driver."""


class Context:
    """A context with an integer handle; remembers whether it is current and that only its owner destroyed it."""

    def __init__(self) -> None:
        self.handle = next(_handles)
        self.pushed = 0

    def push(self) -> None:
        self.pushed += 1

    def pop(self) -> None:
        self.pushed -= 1

    def detach(self) -> None:
        """Ends it; it may be current no more."""
        if self.pushed:
            message = "the context is still current"
            raise Error(message)

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

    def make_context(self) -> Context:
        """A context that is current."""
        context = Context()
        context.push()
        return context


class Stream:
    def __init__(self) -> None:
        self.handle = next(_handles)
        self.num_synchronized = 0

    def synchronize(self) -> None:
        self.num_synchronized += 1


class DeviceAllocation:
    """Memory that other processes may map; ``int()`` is its address."""

    def __init__(self, path: str | None = None, size: int = 0) -> None:
        self._file = os.memfd_create("pycuda") if path is None else os.open(path, os.O_RDWR)
        if path is None:
            os.ftruncate(self._file, size)
        self._memory = mmap.mmap(self._file, 0)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        """Gives the memory back."""
        os.close(self._file)

    @property
    def path(self) -> str:
        """The memory as other processes open it, while this one holds it."""
        return f"/proc/{os.getpid()}/fd/{self._file}"


class Driver(types.ModuleType):
    """One of these a test: ``driver.copies`` holds the bytes of every copy to the host, in order."""

    Context = Context
    Device = Device
    DeviceAllocation = DeviceAllocation
    Error = Error
    IPCMemoryHandle = DeviceAllocation
    Stream = Stream

    def __init__(self) -> None:
        super().__init__("pycuda.driver")
        self.initialized = False
        self.copies: list[bytes] = []

    def init(self) -> None:
        self.initialized = True

    def pagelocked_empty(self, shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> npt.NDArray[Any]:
        return np.empty(shape, dtype, order)  # type: ignore[call-overload]

    def mem_alloc(self, size: int) -> DeviceAllocation:
        return DeviceAllocation(size=size)

    def mem_get_ipc_handle(self, memory: DeviceAllocation) -> str:
        """What another process passes to IPCMemoryHandle."""
        return memory.path

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
