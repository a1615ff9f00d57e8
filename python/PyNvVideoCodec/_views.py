# SPDX-License-Identifier: Apache-2.0
"""What a program sees of a frame beside its samples: views of planes, a CUDA event, the statistics of its blocks."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tricodec


class CAIMemoryView:
    """One plane of a frame as a strided array at an address.

    Args:
        shape: [rows, columns, components].
        stride: distance in bytes from one element to the next along each axis.
        typestr: ``"|u1"`` or ``"|u2"``.
        stream: handle of the CUDA stream on which the data are ready; 0 is the default stream.
        dataptr: address of the first element. The memory must outlive the view. Views of a decoded frame keep the
            frame's memory alive.
        readonly: whether consumers must not write to the memory.
    """

    __slots__ = ("_dataptr", "_gpu", "_host_strides", "_owner", "_readonly", "_shape", "_stream", "_stride", "_typestr")

    def __init__(
        self, shape: Sequence[int], stride: Sequence[int], typestr: str, stream: int, dataptr: int, readonly: bool
    ) -> None:
        self._shape = [int(extent) for extent in shape]
        self._stride = [int(step) for step in stride]
        if len(self._shape) != len(self._stride):
            message = (
                f"shape has {len(self._shape)} axes but stride has {len(self._stride)}: {self._shape}, {self._stride}"
            )
            raise ValueError(message)
        self._typestr = str(typestr)
        self._stream = int(stream)
        self._dataptr = int(dataptr)
        self._readonly = bool(readonly)
        self._owner: object = None  # keeps the memory of a decoded frame alive
        self._gpu = 0
        self._host_strides: tuple[int, ...] | None = None  # the true strides in bytes, of host memory

    @property
    def shape(self) -> list[int]:
        """Extents, [rows, columns, components]."""
        return list(self._shape)

    @property
    def stride(self) -> list[int]:
        """Distance in bytes from one element to the next along each axis."""
        return list(self._stride)

    @property
    def data(self) -> int:
        """Address of the first element."""
        return self._dataptr

    @property
    def dataptr(self) -> int:
        """Address of the first element."""
        return self._dataptr

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # Version 3 forbids stream 0; 1 is the same legacy default stream.
        return {
            "version": 3,
            "shape": tuple(self._shape),
            "strides": tuple(self._stride),
            "typestr": self._typestr,
            "stream": self._stream or 1,
            "data": (self._dataptr, self._readonly),
            "gpuIdx": self._gpu,
        }

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The plane for numpy, without a copy. Only views of frames in host memory have it."""
        if self._host_strides is None:
            message = "this CAIMemoryView is of device memory, or of an address that may not be host memory"
            raise AttributeError(message)
        return {
            "version": 3,
            "shape": tuple(self._shape),
            "strides": self._host_strides,
            "typestr": self._typestr.replace("|u2", "<u2"),
            "data": (self._dataptr, self._readonly),
        }

    def __repr__(self) -> str:
        return f"<CAIMemoryView {self._shape}>"


_NO_TIMING = 2


@functools.cache
def _primary_context(gpu: int) -> tuple[Any, ctypes.c_void_p]:
    """The driver's library and the primary context of a GPU, which is kept: frames are in it already."""
    driver, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
    _check(driver.cuDeviceGet(ctypes.byref(device), gpu))
    _check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return driver, context


def _check(result: int) -> None:
    if result != 0:
        message = f"the CUDA driver made no event for the frame: error {result}"
        raise tricodec.DeviceError(message)


class CompletedEvent:
    """An event that has happened: streams that wait for it continue at once.

    Args:
        gpu: number of the GPU.
    """

    def __init__(self, gpu: int) -> None:
        self._driver, context = _primary_context(gpu)
        event = ctypes.c_void_p()
        _check(self._driver.cuCtxPushCurrent_v2(context))
        try:
            _check(self._driver.cuEventCreate(ctypes.byref(event), _NO_TIMING))
        finally:
            self._driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        self.handle = int(event.value or 0)

    def __del__(self) -> None:
        if getattr(self, "handle", 0):
            self._driver.cuEventDestroy_v2(ctypes.c_void_p(self.handle))


# Decode statistics: quantizer, type and motion vectors of each 16x16 block, in the layout of the original.
# The header is flags, the number of blocks, and reserved words. All integers are little-endian.
_HEADER = np.dtype([("flags", "<u4"), ("num_blocks", "<u4"), ("reserved", "<u4", 6)])
_BLOCK = np.dtype(
    [("qp_luma", "u1"), ("type", "u1"), ("reserved", "<u2"), ("mv0_x", "<i2"), ("mv0_y", "<i2"), ("mv1_x", "<i2"),
     ("mv1_y", "<i2")]
)  # fmt: skip
_PRESENT, _HAS_SECOND_VECTORS = 1, 2
_NAMES = ("qp_luma", "cu_type", "mv0_x", "mv0_y", "mv1_x", "mv1_y")

Statistics = dict[str, list[int]] | dict[str, None]


def parse_statistics(raw: bytes | None) -> Statistics:
    """The statistics of a picture as lists, one entry a block, row by row.

    Args:
        raw: the statistics in their layout; empty if the decoder cannot give them, None if they were not requested.

    Returns:
        ``qp_luma``, ``cu_type``, ``mv0_x``, ``mv0_y``, ``mv1_x`` and ``mv1_y``: lists, which are empty if nothing was
        requested. Each is None if the decoder cannot give it.
    """
    lists: dict[str, list[int]] = {name: [] for name in _NAMES}
    if raw is None:
        return lists
    if len(raw) < _HEADER.itemsize:
        return dict.fromkeys(_NAMES)
    header = np.frombuffer(raw, _HEADER, 1)[0]
    room = (len(raw) - _HEADER.itemsize) // _BLOCK.itemsize
    if not header["flags"] & _PRESENT or header["num_blocks"] > room:
        return dict.fromkeys(_NAMES)
    blocks = np.frombuffer(raw, _BLOCK, int(header["num_blocks"]), _HEADER.itemsize)
    known = _NAMES if header["flags"] & _HAS_SECOND_VECTORS else _NAMES[:4]
    for name in known:
        lists[name] = (blocks["type"] >> 1 & 7 if name == "cu_type" else blocks[name]).tolist()
    return lists
