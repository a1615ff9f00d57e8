# SPDX-License-Identifier: Apache-2.0
"""Chunks of other libraries, as the core takes them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec.io._errors import StreamArgumentError


@dataclass(frozen=True)
class GpuArray:
    """Memory of a GPU, complete: work that writes it has ended."""

    address: int
    dtype: np.dtype[Any]
    shape: list[int]
    strides: list[int]
    """In bytes."""
    number: int
    """Of the GPU."""


def host_array(chunk: Any) -> npt.NDArray[Any]:
    """A numpy array over a chunk's memory, or of its elements where it is a list.

    Raises:
        StreamArgumentError: if the chunk is in a GPU's memory or no array.
    """
    if gpu_array(chunk) is not None:
        message = "Input tensor has to be on CPU."
        raise StreamArgumentError(message)
    if hasattr(chunk, "detach"):  # torch: a tensor that requires gradients exports nothing
        chunk = chunk.detach()
    if hasattr(chunk, "__array__") or hasattr(chunk, "__array_interface__") or isinstance(chunk, np.ndarray):
        return np.asarray(chunk)
    if hasattr(chunk, "__dlpack__"):
        return np.from_dlpack(chunk)
    array = np.asarray(chunk)
    if array.dtype == object:
        message = f"a chunk must be an array, not {type(chunk).__name__}"
        raise StreamArgumentError(message)
    return array


def gpu_array(chunk: Any) -> GpuArray | None:
    """What `__cuda_array_interface__` says; None in host memory."""
    interface = getattr(chunk, "__cuda_array_interface__", None)
    if interface is None:
        return None
    dtype = np.dtype(interface["typestr"])
    shape = [int(extent) for extent in interface["shape"]]
    strides = interface.get("strides")
    if strides is None:
        strides = np.cumprod([1, *shape[:0:-1]])[::-1] * dtype.itemsize
    _wait_for(chunk, interface.get("stream"))
    return GpuArray(int(interface["data"][0]), dtype, shape, [int(step) for step in strides], _number_of(chunk))


def _number_of(chunk: Any) -> int:
    device = getattr(chunk, "device", None)
    for name in ("index", "id"):  # torch's and cupy's devices
        number = getattr(device, name, None)
        if isinstance(number, int):
            return number
    return int(chunk.__dlpack_device__()[1]) if hasattr(chunk, "__dlpack_device__") else 0


def _wait_for(chunk: Any, stream: int | None) -> None:
    """The surfaces are filled on a stream of their own: what makes the chunk must have ended."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(chunk, torch.Tensor):
        torch.cuda.current_stream(chunk.device).synchronize()
        return
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(chunk, cupy.ndarray):
        pointer = 0 if stream is None else stream
        (cupy.cuda.ExternalStream(pointer) if pointer > 2 else cupy.cuda.get_current_stream()).synchronize()
