# SPDX-License-Identifier: Apache-2.0
"""Arrays in host memory: copies from a GPU, and those that NumPy cannot make: bfloat16, page-locked memory."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, SupportsIndex

from tricodec._tricodec import DeviceArray, Frame, bfloat16_to_dlpack, pinned_bytes

__all__ = ["Bfloat16Array", "DeviceArray", "asnumpy", "pinned_empty"]

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import CapsuleType

_MOST_AXES = 64


class Bfloat16Array:
    """bfloat16 numbers over the memory of a uint16 NumPy array with their bits, without a copy.

    For `out=` and consumers of DLPack in programs without the package ml_dtypes, which adds the type to NumPy:
    ``torch.from_dlpack(Bfloat16Array(bits))``.
    """

    def __init__(self, bits: npt.NDArray[np.uint16]) -> None:
        """Share the memory of `bits`, uint16 with any shape."""
        self.bits = bits

    def __dlpack__(self, **_: Any) -> CapsuleType:
        """Return an unversioned capsule, which every consumer can read."""
        return bfloat16_to_dlpack(self.bits)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return (1, 0): host memory."""
        return (1, 0)


def asnumpy(array: Any) -> npt.NDArray[Any]:
    """Return an array, a tensor or a frame as a NumPy array in host memory, on machines with and without a GPU.

        >>> frames = tricodec.asnumpy(tricodec.decode_video(tricodec.sample_video(), count=2).frames)
        >>> type(frames).__name__, frames.shape
        ('ndarray', (2, 720, 1280, 3))

    Args:
        array: an array of NumPy, tricodec (`DeviceArray`, `compress.Array`), PyTorch, CuPy, Numba or another library
            with DLPack or the CUDA array interface; or a `Frame`, which gives its picture: uint8 RGB, [H, W, 3].

    Returns:
        An array of the same shape and dtype. Host memory is shared, memory of a GPU is copied.

    Raises:
        TypeError: the dtype has no counterpart in NumPy, as torch.bfloat16.
        ImportError: a `DeviceArray` is of bfloat16, and the package ml_dtypes is not installed.

    Thread safety: safe.
    """
    import numpy as np

    if isinstance(array, Frame):
        return np.asarray(array)
    if hasattr(array, "detach"):  # a tensor of PyTorch, which may need gradients
        array = array.detach()
    if hasattr(array, "cpu"):
        array = array.cpu()
    elif hasattr(array, "__cuda_array_interface__"):
        array = (array if isinstance(array, DeviceArray) else DeviceArray.copy_of(array)).numpy()
    return np.asarray(array)


def pinned_empty(
    shape: SupportsIndex | Sequence[SupportsIndex], dtype: npt.DTypeLike = "uint8", *, device_index: int = 0
) -> npt.NDArray[Any]:
    """Return an array in page-locked host memory, to which a GPU copies while the program continues.

        >>> batch = tricodec.pinned_empty((8, 224, 224, 3))
        >>> with tricodec.FrameReader(tricodec.sample_video()) as reader:
        ...     reader.batch(range(8), out=batch, size=(224, 224)) is batch
        True

    The values are undefined. Without a usable GPU the memory is ordinary, and the log says so at level info.

    Args:
        shape: sizes of the axes, or one size.
        dtype: a numpy dtype without objects.
        device_index: number of the GPU.

    Raises:
        ValueError: a size or `device_index` is negative, or `dtype` has objects.
        RefusedError: the array is larger than ``limits.max_output_bytes``.
        OutOfMemoryError: the memory cannot be locked.

    Thread safety: safe.
    """
    import numpy as np

    given = shape if isinstance(shape, Sequence) else (shape,)
    if len(given) > _MOST_AXES:
        raise ValueError(f"shape has more than {_MOST_AXES} sizes, the most axes that an array of NumPy has")
    sizes = tuple(map(operator.index, given))
    if any(size < 0 for size in sizes):
        raise ValueError(f"shape is {sizes}; sizes must be 0 or more")
    if device_index < 0:
        raise ValueError(f"device_index is {device_index}; GPUs are numbered from 0")
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ValueError(f"dtype is {kind}; page-locked memory cannot hold Python objects, use a dtype of numbers")
    array: npt.NDArray[Any] = pinned_bytes(prod(sizes) * kind.itemsize, device_index)
    return array.view(kind).reshape(sizes)
