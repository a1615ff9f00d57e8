# SPDX-License-Identifier: Apache-2.0
"""decord.ndarray, also called decord.nd: contexts, and the arrays that readers return."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DECORDContext", "NDArray", "array", "cpu", "empty", "from_dlpack", "gpu"]


@dataclasses.dataclass(frozen=True)
class DECORDContext:
    """Where frames are decoded.

    Attributes:
        device_type: 1 is the CPU, 2 a GPU.
        device_id: which one.
    """

    device_type: int
    device_id: int = 0

    def __repr__(self) -> str:
        return f"{'cpu' if self.device_type == 1 else 'gpu'}({self.device_id})"

    @property
    def device(self) -> str:
        """The name that tricodec gives it."""
        return "cpu" if self.device_type == 1 else f"cuda:{self.device_id}"


def cpu(dev_id: int = 0) -> DECORDContext:
    """The CPU."""
    return DECORDContext(1, dev_id)


def gpu(dev_id: int = 0) -> DECORDContext:
    """A GPU."""
    return DECORDContext(2, dev_id)


class NDArray:
    """An array of a reader. ``asnumpy()`` gives its memory, which nothing copies; numpy and DLPack take it too.

    Args:
        data: a numpy array, or a tricodec.DeviceArray.
        ctx: where it is.
    """

    def __init__(self, data: Any, ctx: DECORDContext | None = None) -> None:
        self._data = data
        self.ctx = cpu() if ctx is None else ctx

    @property
    def context(self) -> DECORDContext:
        """The same as ctx."""
        return self.ctx

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return tuple(self._data.shape)

    @property
    def dtype(self) -> str:
        """numpy's name of the element type."""
        return str(np.dtype(self._data.dtype))

    def asnumpy(self) -> npt.NDArray[Any]:
        """The elements in host memory, writable; a copy only if they are on a GPU."""
        return self._data if isinstance(self._data, np.ndarray) else np.asarray(self._data.numpy())

    def to_dlpack(self) -> Any:
        """A DLPack capsule."""
        return self._data.__dlpack__()

    def copyto(self, target: Any) -> Any:
        """Copy the elements into an array of the same shape, or into a new one for a context."""
        if isinstance(target, DECORDContext):
            return array(self.asnumpy(), target)
        if not isinstance(target, NDArray):
            raise ValueError(f"Unsupported target type {type(target)}")
        target.asnumpy()[...] = self.asnumpy()
        return target

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        found = self.asnumpy()
        if copy or (dtype is not None and np.dtype(dtype) != found.dtype):
            return np.array(found, dtype=dtype)
        return found

    def __dlpack__(self, **options: Any) -> Any:
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._data.__dlpack_device__()

    def __repr__(self) -> str:
        return f"<decord.NDArray shape={self.shape}, {self.ctx}>\n{self.asnumpy()!r}"

    def __str__(self) -> str:
        return str(self.asnumpy())


def empty(shape: Any, dtype: npt.DTypeLike = "float32", ctx: DECORDContext | None = None) -> NDArray:
    """An array with elements that are not set."""
    return NDArray(np.empty(shape, dtype), ctx)


def array(arr: Any, ctx: DECORDContext | None = None) -> NDArray:
    """A copy of an array."""
    return NDArray(np.array(arr), ctx)


def from_dlpack(source: Any) -> NDArray:
    """An array over the memory of an object with ``__dlpack__``, such as a tensor of torch."""
    return NDArray(np.from_dlpack(source))
