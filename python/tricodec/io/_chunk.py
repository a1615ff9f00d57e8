# SPDX-License-Identifier: Apache-2.0
"""Chunks of a reader, which are arrays with a start time; and arrays of other libraries for a writer."""

from __future__ import annotations

import functools
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import Self

    from tricodec._tricodec import DeviceArray


class ArrayChunk(np.ndarray[Any, Any]):
    """A numpy array with ``pts``. Slices and results of computations are plain arrays."""

    pts: float
    """Presentation time of the first frame in seconds."""

    def __new__(cls, data: npt.NDArray[Any], pts: float) -> Self:
        """Make a view of `data`, without a copy."""
        chunk = data.view(cls)
        chunk.pts = pts
        return chunk

    def __array_wrap__(self, array: npt.NDArray[Any], context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar or plain.ndim == 0 else plain  # numpy 1 does not pass it

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __array_finalize__(self, source: Any) -> None:
        self.pts = getattr(source, "pts", float("nan"))


class DeviceChunk:
    """Frames in GPU memory with ``pts``, for programs that have not imported torch.

    Libraries share the memory without a copy: ``cupy.from_dlpack(chunk)``, ``torch.as_tensor(chunk, device="cuda")``.
    """

    def __init__(self, data: DeviceArray, pts: float) -> None:
        """Wrap an array of the core."""
        self.data = data
        self.pts = pts

    shape = property(attrgetter("data.shape"), doc="Shape (frames, channels, height, width).")
    dtype = property(attrgetter("data.dtype"), doc="The numpy dtype of the elements.")
    device = property(attrgetter("data.device"), doc='The GPU, "cuda:N".')
    __cuda_array_interface__ = property(attrgetter("data.__cuda_array_interface__"))

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()

    def __len__(self) -> int:
        return len(self.data)

    def numpy(self) -> npt.NDArray[Any]:
        """Wait for the frames and return a copy in host memory."""
        return self.data.numpy()


@functools.cache
def _tensor_class() -> Any:
    """The class of torch chunks. The package itself does not import torch."""
    torch: Any = sys.modules["torch"]

    class TensorChunk(torch.Tensor):  # type: ignore[misc]
        """A torch tensor with ``pts``. Slices and results of computations are plain tensors."""

        pts: float
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls: Any, data: Any, pts: float) -> Any:
            chunk = torch.Tensor._make_subclass(cls, data, data.requires_grad)
            chunk.pts = pts
            return chunk

    return TensorChunk


def make_chunk(data: npt.NDArray[Any] | DeviceArray, pts: float, arrays: str) -> Any:
    """A chunk over the memory of an array of the core. `arrays` is as in `StreamReader`."""
    if arrays == "torch":
        import torch  # noqa: F401
    plain = arrays == "numpy" or not hasattr(sys.modules.get("torch"), "from_numpy")
    if not isinstance(data, np.ndarray):
        return DeviceChunk(data, pts) if plain else _tensor_class()(sys.modules["torch"].from_dlpack(data), pts)
    if plain:
        return ArrayChunk(data, pts)
    return _tensor_class()(sys.modules["torch"].from_numpy(data), pts)
