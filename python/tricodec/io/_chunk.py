# SPDX-License-Identifier: Apache-2.0
"""Chunks: arrays of frames that know when they begin."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import Self


class ArrayChunk(np.ndarray[Any, Any]):
    """A numpy array with ``pts``; whatever is computed or cut from it is a plain array."""

    pts: float
    """Presentation time of the first frame, in seconds."""

    def __new__(cls, data: npt.NDArray[Any], pts: float) -> Self:
        """A view of `data`; nothing is copied."""
        chunk = data.view(cls)
        chunk.pts = pts
        return chunk

    def __array_wrap__(self, array: npt.NDArray[Any], context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __array_finalize__(self, source: Any) -> None:
        self.pts = getattr(source, "pts", float("nan"))


@functools.cache
def _tensor_class() -> Any:
    """The class of torch chunks, made where torch is there: the package does not import it."""
    torch: Any = sys.modules["torch"]

    class TensorChunk(torch.Tensor):  # type: ignore[misc]
        """A torch tensor with ``pts``; whatever is computed or cut from it is a plain tensor."""

        pts: float
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls: Any, data: Any, pts: float) -> Any:
            chunk = torch.Tensor._make_subclass(cls, data, data.requires_grad)
            chunk.pts = pts
            return chunk

    return TensorChunk


def make_chunk(data: npt.NDArray[Any], pts: float, arrays: str) -> Any:
    """A chunk over the memory of `data`.

    Args:
        data: of the core.
        pts: time of its first frame in seconds.
        arrays: "numpy", "torch", or "auto": torch where the program has imported it.
    """
    if arrays == "torch":
        import torch  # noqa: F401
    if arrays == "numpy" or not hasattr(sys.modules.get("torch"), "from_numpy"):
        return ArrayChunk(data, pts)
    return _tensor_class()(sys.modules["torch"].from_numpy(data), pts)
