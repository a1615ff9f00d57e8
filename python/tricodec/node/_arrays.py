# SPDX-License-Identifier: Apache-2.0
"""Arrays of results in a node's memory. They pass to another process as a lease of a few bytes, not as a copy."""

from __future__ import annotations

import functools
import math
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import DeviceArray
from tricodec.node import _channel, _device_memory

if TYPE_CHECKING:
    from tricodec.node._client import Connection


class Lease:
    """The right to memory of a node: it lasts until the object is gone, in the process that has it."""

    def __init__(self, connection: Connection, described: dict[str, Any], file: int) -> None:
        """Takes over an open file of the memory."""
        self.connection = connection
        self.number = int(described["lease"])
        self.device = str(described["device"])
        self.size = int(described["size"])
        self.shape = tuple(map(int, described["shape"]))
        self.dtype = str(described["dtype"])
        self.event = described.get("event")
        self.file = file
        self._end = weakref.finalize(self, _end, connection, self.number, file, os.getpid())
        self._end.atexit = False

    def share(self) -> tuple[Any, ...]:
        """What another process of the user makes the array of; once."""
        token = self.connection.ask({"do": "share", "lease": self.number})[0]["token"]
        return claimed, (self.connection.path, token)


def _end(connection: Connection, number: int, file: int, process: int) -> None:
    os.close(file)
    if process == os.getpid():  # a forked child has the object, not the lease
        connection.tell({"do": "release", "lease": number})


def claimed(path: str, token: str) -> NodeArray | NodeDeviceArray:
    """The array of a lease that another process has passed here."""
    from tricodec.node._client import connection_to

    connection = connection_to(path)
    reply, files = connection.ask({"do": "claim", "token": token})
    return array_of(Lease(connection, reply, *files))


def array_of(lease: Lease) -> NodeArray | NodeDeviceArray:
    """The array of the frames that a lease has."""
    return NodeArray.of(lease) if lease.device == "cpu" else NodeDeviceArray(lease)


class NodeArray(npt.NDArray[Any] if TYPE_CHECKING else np.ndarray):  # type: ignore[misc]
    """A NumPy array in memory of a node, which gets it back when the array and all views of it are gone.

    Pickled, it passes the memory on without a copy, to one other process of the same user. Views and results of
    NumPy are pickled as NumPy does.

    Thread safety: as a NumPy array.
    """

    _lease: Lease | None = None

    @classmethod
    def of(cls, lease: Lease) -> NodeArray:
        """Maps the memory."""
        dtype: Any = lease.dtype
        if dtype == "bfloat16":
            import ml_dtypes  # raises the ImportError of `decode_video` without a node

            dtype = ml_dtypes.bfloat16
        size = math.prod(lease.shape) * np.dtype(dtype).itemsize
        memory = _channel.map_file(lease.file, size)
        _kept(memory, lease)
        array: NodeArray = np.ndarray.__new__(cls, lease.shape, np.dtype(dtype), memory)
        array._lease = lease
        return array

    def __reduce__(self) -> Any:
        return self._lease.share() if self._lease is not None else np.asarray(self).__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__() if self._lease is not None else np.asarray(self).__reduce_ex__(protocol)


def _kept(memory: Any, lease: Lease) -> None:
    """Keeps the lease as long as the mapping, which views of the array keep."""
    weakref.finalize(memory, _forget, [lease]).atexit = False


def _forget(kept: list[Lease]) -> None:
    kept.clear()


class NodeDeviceArray:
    """An array on a GPU in memory of a node: what `tricodec.DeviceArray` has, and a pickle without a copy.

    The process maps the memory when it first uses the array. Until then it needs no CUDA context, so a worker of a
    DataLoader passes the array on without one.

    Thread safety: safe.
    """

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self.shape = lease.shape
        self.ndim = len(lease.shape)
        self.size = int(np.prod(lease.shape, dtype=np.int64))
        self.device = lease.device
        self._mapping = threading.Lock()
        self._array: DeviceArray | None = None

    @property
    def array(self) -> DeviceArray:
        """The memory as a `tricodec.DeviceArray`; maps it at the first use."""
        with self._mapping:
            if self._array is None:
                self._array = self._mapped()
            return self._array

    def _mapped(self) -> DeviceArray:
        lease = self._lease
        gpu = int(lease.device.partition(":")[2])
        block = _device_memory.Block(gpu, lease.size, lease.file)
        block.owner = lease
        stream = _stream(gpu, os.getpid())
        if lease.event is not None:
            stream.wait_for(_device_memory.Event(gpu, bytes.fromhex(lease.event)))
        typestr = "<u2" if lease.dtype == "bfloat16" else np.dtype(lease.dtype).str
        view = _device_memory.View(block, block.address, lease.shape, typestr, stream.handle)
        return DeviceArray.over(view, "bfloat16" if lease.dtype == "bfloat16" else "")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)

    def __getitem__(self, index: Any) -> DeviceArray:
        return self.array[index]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __dlpack__(self, **arguments: Any) -> Any:
        """As of `tricodec.DeviceArray`."""
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        """As of `tricodec.DeviceArray`; maps nothing."""
        return 2, int(self.device.partition(":")[2])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array.__array__(dtype, copy)

    def __reduce__(self) -> Any:
        return self._lease.share()

    def __repr__(self) -> str:
        return f"<tricodec.node.NodeDeviceArray {self._lease.dtype} {list(self.shape)} on {self.device}>"


@functools.cache
def _stream(gpu: int, process: int) -> _device_memory.Stream:
    """The stream of a process on which results of a node are complete."""
    del process  # a forked child cannot use the parent's
    return _device_memory.Stream(gpu)
