# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU that several processes map, and events that order their work, by the driver's own functions.

A block made with cuMemCreate goes to another process as a file descriptor, so it needs no common name spaces of process
numbers. Its memory is free when no process maps it and no descriptor of it is open.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import queue
import threading
from collections.abc import Iterator
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

from tricodec.errors import DeviceError, OutOfMemoryError

_POSIX_FILE = 1
_PINNED = 1
_ON_DEVICE = 1
_READ_WRITE = 3
_NON_BLOCKING = 1
_EVENT_FOR_PROCESSES = 2 | 4  # without times
_EVENT_THAT_BLOCKS = 1 | 2
_OUT_OF_MEMORY = 2
_HANDLE_BYTES = 64


class _Location(ctypes.Structure):
    _fields_ = (("type", c_int), ("id", c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", c_int), ("handle_types", c_int), ("location", _Location), ("win32", c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )  # fmt: skip


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", c_int))


class _EventHandle(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_ubyte * _HANDLE_BYTES),)


@functools.cache
def _driver() -> Any:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DeviceError(f"the NVIDIA driver's library cannot be loaded: {error}") from error
    _check(driver.cuInit(0), "cuInit")
    return driver


def _check(status: int, what: str) -> None:
    if status == _OUT_OF_MEMORY:
        raise OutOfMemoryError(f"the GPU has no memory left for {what}")
    if status != 0:
        name = ctypes.c_char_p()
        ctypes.CDLL("libcuda.so.1").cuGetErrorName(status, byref(name))
        raise DeviceError(f"{what} failed: {(name.value or b'?').decode()} ({status})")


def _call(name: str, *arguments: Any) -> None:
    _check(getattr(_driver(), name)(*arguments), name)


@functools.cache
def _context(gpu: int) -> c_void_p:
    """The primary context, which this process then keeps."""
    device, context = c_int(), c_void_p()
    _call("cuDeviceGet", byref(device), gpu)
    _call("cuDevicePrimaryCtxRetain", byref(context), device)
    return context


@contextlib.contextmanager
def current(gpu: int) -> Iterator[None]:
    """Makes the primary context of a GPU current for the thread."""
    _call("cuCtxPushCurrent_v2", _context(gpu))
    try:
        yield
    finally:
        _call("cuCtxPopCurrent_v2", byref(c_void_p()))


def is_lost(gpu: int) -> bool:
    """Whether the context can do no more work, as after an error of a kernel."""
    try:
        with current(gpu):
            _call("cuCtxSynchronize")
    except DeviceError:
        return True
    return False


class Block:
    """Memory on a GPU, mapped into this process as long as the object lives. Thread safety: safe."""

    def __init__(self, gpu: int, size: int, file: int | None = None) -> None:
        """Makes memory, or maps that of an open file, which stays the caller's.

        Args:
            gpu: number of the GPU.
            size: in bytes, a multiple of 2 MiB.
            file: of another process's block.

        Raises:
            OutOfMemoryError: the GPU has not so much memory left.
            DeviceError: the driver refuses it.
        """
        self.gpu, self.size, self.address, self._process = gpu, size, 0, os.getpid()
        self.owner: Any = None
        self._ended = _ended(self._process)
        properties = _Properties(_PINNED, _POSIX_FILE, _Location(_ON_DEVICE, gpu))
        handle, address = c_ulonglong(), c_ulonglong()
        self._free: Any = None
        with current(gpu), contextlib.ExitStack() as undo:
            if file is None:
                _call("cuMemCreate", byref(handle), c_size_t(size), byref(properties), c_ulonglong(0))
            else:
                _call("cuMemImportFromShareableHandle", byref(handle), c_void_p(file), _POSIX_FILE)
            undo.callback(_call, "cuMemRelease", handle)
            self.file = -1 if file is not None else self._export(handle)
            undo.callback(self._close_file)
            _call("cuMemAddressReserve", byref(address), c_size_t(size), c_size_t(0), c_ulonglong(0), c_ulonglong(0))
            undo.callback(_call, "cuMemAddressFree", address, c_size_t(size))
            _call("cuMemMap", address, c_size_t(size), c_size_t(0), handle, c_ulonglong(0))
            undo.callback(_call, "cuMemUnmap", address, c_size_t(size))
            access = _Access(_Location(_ON_DEVICE, gpu), _READ_WRITE)
            _call("cuMemSetAccess", address, c_size_t(size), byref(access), c_size_t(1))
            self._free = undo.pop_all()
        self.address = int(address.value)

    @staticmethod
    def _export(handle: c_ulonglong) -> int:
        file = c_int()
        _call("cuMemExportToShareableHandle", byref(file), handle, _POSIX_FILE, c_ulonglong(0))
        os.set_inheritable(file.value, False)
        return file.value

    def _close_file(self) -> None:
        if self.file >= 0:
            os.close(self.file)

    def copy_to(self, memory: Any, size: int) -> None:
        """Copies the first bytes to writable memory of the host, and waits for that."""
        if size:
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            with current(self.gpu):
                _call("cuMemcpyDtoH_v2", c_void_p(address), c_ulonglong(self.address), c_size_t(size))

    def close(self) -> None:
        """Ends the mapping once the work that was queued has ended, and waits for that; once."""
        if self._free is not None:
            free, self._free = self._free, None
            _end_mapping(self.gpu, free)

    def __del__(self) -> None:
        """Ends the mapping on another thread: no caller waits for the GPU because an array goes."""
        if self._free is not None and self._process == os.getpid():
            self._ended.put((self.gpu, self._free, self.owner))


@functools.cache
def _ended(process: int) -> queue.SimpleQueue[Any]:
    """Mappings of a process that go, and the thread that ends them; a forked child has its own."""
    del process
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def end() -> None:
        while True:
            gpu, free, owner = ended.get()
            _end_mapping(gpu, free)
            del free, owner  # the node writes the memory again once the lease has gone

    threading.Thread(target=end, name="tricodec-node-memory", daemon=True).start()
    return ended


def _end_mapping(gpu: int, free: contextlib.ExitStack) -> None:
    with contextlib.suppress(DeviceError), current(gpu):
        _wait_for_all_work(gpu)
        free.close()


def _wait_for_all_work(gpu: int) -> None:
    """Waits for what all streams of the process have queued: any of them may read the memory that goes.

    A driver before 12.5 cannot record that in an event, and then a core is busy with waiting.
    """
    if not hasattr(_driver(), "cuCtxRecordEvent"):
        _call("cuCtxSynchronize")
        return
    event = c_void_p()
    _call("cuEventCreate", byref(event), c_uint(_EVENT_THAT_BLOCKS))
    try:
        _call("cuCtxRecordEvent", _context(gpu), event)
        _call("cuEventSynchronize", event)
    finally:
        _call("cuEventDestroy_v2", event)


class Stream:
    """A stream of the driver's in the primary context."""

    def __init__(self, gpu: int) -> None:
        self.gpu, stream = gpu, c_void_p()
        with current(gpu):
            _call("cuStreamCreate", byref(stream), c_uint(_NON_BLOCKING))
        self.handle = int(stream.value or 0)

    def synchronize(self) -> None:
        """The host waits for the work that was queued."""
        with current(self.gpu):
            _call("cuStreamSynchronize", c_void_p(self.handle))

    def wait_for(self, event: Event) -> None:
        """Work that is queued from now on waits for what was queued before the event."""
        with current(self.gpu):
            _call("cuStreamWaitEvent", c_void_p(self.handle), event.handle, c_uint(0))


class Event:
    """An event that other processes can wait for."""

    def __init__(self, gpu: int, described: bytes | None = None) -> None:
        """Makes an event, or opens that of another process.

        Raises:
            DeviceError: the driver cannot share events, as between containers without common name spaces.
        """
        self.gpu, self.handle = gpu, c_void_p()
        with current(gpu):
            if described is None:
                _call("cuEventCreate", byref(self.handle), c_uint(_EVENT_FOR_PROCESSES))
            else:
                handle = _EventHandle.from_buffer_copy(described)
                _call("cuIpcOpenEventHandle", byref(self.handle), handle)

    def described(self) -> bytes:
        """What another process opens it by."""
        handle = _EventHandle()
        with current(self.gpu):
            _call("cuIpcGetEventHandle", byref(handle), self.handle)
        return bytes(handle)

    def record(self, stream: Stream) -> None:
        """Marks the end of what is queued so far."""
        with current(self.gpu):
            _call("cuEventRecord", self.handle, c_void_p(stream.handle))

    def close(self) -> None:
        """Ends the event; once."""
        if self.handle.value:
            with contextlib.suppress(DeviceError), current(self.gpu):
                _call("cuEventDestroy_v2", self.handle)
            self.handle = c_void_p()

    def __del__(self) -> None:
        self.close()


class View:
    """An array in memory on a GPU, by the CUDA array interface. It keeps the memory."""

    def __init__(self, memory: Any, address: int, shape: tuple[int, ...], typestr: str, stream: int | None) -> None:
        """Args: stream is the one on which the array is complete, or None."""
        self.memory = memory
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": typestr, "data": (address, False), "strides": None,
            "stream": stream,
        }  # fmt: skip
