# SPDX-License-Identifier: Apache-2.0
"""CAIMemoryView, one plane for the CUDA array interface, and values that may also be called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class CallableTuple(tuple[int, ...]):
    """A tuple that returns itself when called: the document writes ``frame.shape()``, programs ``frame.shape``."""

    __slots__ = ()

    def __call__(self) -> tuple[int, ...]:
        return self


class CallableStr(str):
    """A str that returns itself when called, for ``frame.dtype`` and ``frame.dtype()``."""

    __slots__ = ()

    def __call__(self) -> str:
        return self


class CAIMemoryView:
    """One plane of a frame as a strided array at an address.

    Args:
        shape: [rows, columns, components].
        stride: bytes from one element to the next along each axis.
        typestr: ``"|u1"`` or ``"|u2"``.
        stream: handle of the CUDA stream that the data are ready on; 0 is the default stream.
        dataptr: address of the first element. Memory given by address must outlive the view; views of a decoded frame
            keep the frame's memory alive themselves.
        readonly: whether consumers must not write.
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
        self._owner: object = None
        self._gpu = 0
        self._host_strides: tuple[int, ...] | None = None

    @property
    def shape(self) -> list[int]:
        """Extents, [rows, columns, components]."""
        return list(self._shape)

    @property
    def stride(self) -> list[int]:
        """Bytes from one element to the next along each axis."""
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
        """For numpy, without a copy. Only views of frames in host memory have it."""
        if self._host_strides is None:
            message = "this CAIMemoryView is of device memory, or of an address, which may not be host memory"
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


def host_view(
    shape: Sequence[int],
    strides: Sequence[int],
    typestr: str,
    stream: int,
    address: int,
    owner: object,
    host_strides: Sequence[int] | None = None,
) -> CAIMemoryView:
    """A view of host memory that ``owner`` keeps valid.

    ``host_strides`` are the true ones where ``strides`` are a convention.
    """
    view = CAIMemoryView(shape, strides, typestr, stream, address, readonly=False)
    view._owner = owner
    view._host_strides = tuple(strides if host_strides is None else host_strides)
    return view


def device_view(
    shape: Sequence[int], strides: Sequence[int], typestr: str, stream: int, address: int, owner: object, gpu: int
) -> CAIMemoryView:
    """A view of memory of a GPU that ``owner`` keeps valid, complete on ``stream``."""
    view = CAIMemoryView(shape, strides, typestr, stream, address, readonly=False)
    view._owner, view._gpu = owner, gpu
    return view
