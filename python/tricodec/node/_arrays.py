# SPDX-License-Identifier: Apache-2.0
"""Arrays of results in a node's memory. They pass to another process as a lease of a few bytes, not as a copy."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import DeviceArray
from tricodec.node import _channel, _device_memory
from tricodec.node._client import Lease, connection_to
from tricodec.node._start import NodeLostError


def claimed(path: str, token: str) -> NodeArray | NodeDeviceArray:
    """The array of a lease that another process has passed here."""
    return array_of(connection_to(path).ask({"do": "claim", "token": token})[1])


def array_of(lease: Lease | None) -> NodeArray | NodeDeviceArray:
    """The array of the frames that a lease has."""
    assert lease is not None
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
        memory = _channel.map_file(lease.held.file, size)
        memory.owner = lease
        lease.held.close_file()
        array: NodeArray = np.ndarray.__new__(cls, lease.shape, np.dtype(dtype), memory)
        array._lease = lease
        return array

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._lease is not None:
            with contextlib.suppress(NodeLostError):  # a queue that cannot pickle loses the array, and its reader hangs
                return claimed, self._lease.share()
        return np.asarray(self).__reduce_ex__(protocol)


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
        block = _device_memory.Block(gpu, lease.size, lease.held.file)
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
        try:
            return claimed, self._lease.share()
        except NodeLostError:  # the reader gets the error: where it is raised here, a queue loses the array
            return claimed, (self._lease.connection.path, "")

    def __repr__(self) -> str:
        return f"<tricodec.node.NodeDeviceArray {self._lease.dtype} {list(self.shape)} on {self.device}>"


@functools.cache
def _stream(gpu: int, process: int) -> _device_memory.Stream:
    """The stream of a process on which results of a node are complete."""
    del process  # a forked child cannot use the parent's
    return _device_memory.Stream(gpu)
