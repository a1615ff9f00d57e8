# SPDX-License-Identifier: Apache-2.0
"""What programs use of ``pycuda.driver``, by ctypes over the driver, or over host memory on machines without a GPU.

pycuda has no wheels for most machines.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import types
from typing import Any

import numpy as np
import numpy.typing as npt

from gpu_helpers import has_cuda


class HostMemory:
    """Answers for libcuda where there is no GPU: "device" memory is host memory, and work is done at once."""

    def __init__(self) -> None:
        self._handles = itertools.count(0x5000_0000_0000, 0x1000)
        self._memory: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda *_: 0  # there is nothing to start or to wait for

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = 1
        return 0

    def cuDeviceGet(self, _: Any, number: int) -> int:
        return 101 if number else 0

    def cuDeviceGetName(self, text: Any, *_: Any) -> int:
        text.value = b"host memory"
        return 0

    def cuDevicePrimaryCtxRetain(self, handle: Any, _: Any) -> int:
        handle._obj.value = next(self._handles)
        return 0

    cuStreamCreate = cuDevicePrimaryCtxRetain

    def cuMemAlloc_v2(self, address: Any, size: Any) -> int:
        memory = ctypes.create_string_buffer(size.value)
        address._obj.value = ctypes.addressof(memory)
        self._memory[address._obj.value] = memory
        return 0

    def cuMemFree_v2(self, address: Any) -> int:
        del self._memory[address.value]
        return 0

    def cuMemcpyHtoD_v2(self, to: Any, source: Any, size: Any) -> int:
        ctypes.memmove(getattr(to, "value", to), getattr(source, "value", source), size.value)
        return 0

    cuMemcpyDtoH_v2 = cuMemcpyHtoD_v2


@functools.cache
def library() -> Any:
    return ctypes.CDLL("libcuda.so.1") if has_cuda() else HostMemory()


def call(name: str, *arguments: Any) -> None:
    """One function of libcuda. Raises Error for results other than success."""
    result = getattr(library(), name)(*arguments)
    if result != 0:
        message = f"{name} returned {result}"
        raise Error(message)


class Error(RuntimeError):
    """An error of the driver."""


class Context:
    """A context with an integer handle."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def push(self) -> None:
        call("cuCtxPushCurrent_v2", ctypes.c_void_p(self.handle))

    @staticmethod
    def pop() -> None:
        call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def detach(self) -> None:
        call("cuCtxDestroy_v2", ctypes.c_void_p(self.handle))

    @staticmethod
    def synchronize() -> None:
        call("cuCtxSynchronize")


class Device:
    def __init__(self, number: int) -> None:
        self._device = ctypes.c_int()
        call("cuDeviceGet", ctypes.byref(self._device), number)

    @staticmethod
    def count() -> int:
        count = ctypes.c_int()
        call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def name(self) -> str:
        text = ctypes.create_string_buffer(100)
        call("cuDeviceGetName", text, len(text), self._device)
        return text.value.decode()

    def retain_primary_context(self) -> Context:
        handle = ctypes.c_void_p()
        call("cuDevicePrimaryCtxRetain", ctypes.byref(handle), self._device)
        return Context(handle.value or 0)

    def make_context(self) -> Context:
        """A context beside the primary one, current from now on."""
        handle = ctypes.c_void_p()
        call("cuCtxCreate_v2", ctypes.byref(handle), 0, self._device)
        return Context(handle.value or 0)


class Stream:
    def __init__(self, flags: int = 1) -> None:
        handle = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(handle), flags)
        self.handle = handle.value or 0

    def synchronize(self) -> None:
        call("cuStreamSynchronize", ctypes.c_void_p(self.handle))


class DeviceAllocation:
    """Memory of the GPU; ``int()`` is its address."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        """Gives the memory back."""
        call("cuMemFree_v2", ctypes.c_ulonglong(self._address))


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
        call("cuInit", 0)

    def pagelocked_empty(self, shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> npt.NDArray[Any]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        data = ctypes.c_void_p()
        call("cuMemHostAlloc", ctypes.byref(data), ctypes.c_size_t(size), mem_flags)
        memory = (ctypes.c_ubyte * size).from_address(data.value or 0)
        return np.frombuffer(memory, dtype).reshape(shape, order=order)  # type: ignore[call-overload, no-any-return]

    def mem_alloc(self, size: int) -> DeviceAllocation:
        address = ctypes.c_ulonglong()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return DeviceAllocation(address.value)

    def memcpy_htod(self, dest: DeviceAllocation | int, src: Any) -> None:
        data = bytes(src)
        call("cuMemcpyHtoD_v2", ctypes.c_ulonglong(int(dest)), data, ctypes.c_size_t(len(data)))

    def memcpy_dtoh(self, dest: npt.NDArray[Any], src: DeviceAllocation | int) -> None:
        """Checks its arguments as the original does."""
        if not isinstance(dest, np.ndarray) or not dest.flags.c_contiguous or not dest.flags.writeable:
            message = "dest must be a writable C-contiguous array"
            raise TypeError(message)
        if not isinstance(src, DeviceAllocation | int) or int(src) == 0:
            message = f"src must be an address, not {src!r}"
            raise TypeError(message)
        host, device = ctypes.c_void_p(dest.ctypes.data), ctypes.c_ulonglong(int(src))
        call("cuMemcpyDtoH_v2", host, device, ctypes.c_size_t(dest.nbytes))

    def memcpy_dtoh_async(self, dest: npt.NDArray[Any], src: int, stream: Stream) -> None:
        call(
            "cuMemcpyDtoHAsync_v2", ctypes.c_void_p(dest.ctypes.data), ctypes.c_ulonglong(src),
            ctypes.c_size_t(dest.nbytes), ctypes.c_void_p(stream.handle),
        )  # fmt: skip
        stream.synchronize()
