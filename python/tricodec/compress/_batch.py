# SPDX-License-Identifier: Apache-2.0
"""Batches of arrays, arrays in memory of others, and arrays as .npy files, the format of all front ends with header."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from tricodec._tricodec import CompressArray as Array
from tricodec._tricodec import DeviceArray, as_array, dlpack_as_array, make_npy_header, read_npy_header
from tricodec.compress._enums import ArrayBufferKind

if TYPE_CHECKING:  # numpy is imported when it is first needed: `import tricodec` stays quick
    import numpy as np
    import numpy.typing as npt


class BatchArray(list[Array]):
    """Arrays in order: the list of nvCOMP 5, with what nvCOMP 6's class of this name adds.

    `as_arrays`, `Codec.encode` and `Codec.decode` make it. Each entry owns its memory or keeps the memory of others, so
    an entry may outlive the batch.

    Thread safety: as a list.
    """

    @property
    def buffer_sizes(self) -> list[int]:
        """Bytes of each entry. On a GPU it waits for the work that makes them."""
        return [array.buffer_size for array in self]

    def cpu(self) -> BatchArray | None:
        """The batch in host memory: itself if all entries are there, else a copy; None if one could not be copied."""
        return self if self._all_in(ArrayBufferKind.STRIDED_HOST) else _whole([array.cpu() for array in self])

    def cuda(self, synchronize: bool = True, cuda_stream: int = 0) -> BatchArray | None:
        """The batch in the GPU's memory: itself if all entries are there, else a copy.

        Args:
            synchronize: wait until the data are there.
            cuda_stream: cudaStream_t as an int, on which the copies are queued.

        Returns:
            The batch, or None if an entry could not be copied; the log says why.
        """
        if self._all_in(ArrayBufferKind.STRIDED_DEVICE):
            return self
        return _whole([array.cuda(synchronize, cuda_stream) for array in self])

    def _all_in(self, kind: ArrayBufferKind) -> bool:
        return all(array.buffer_kind is kind for array in self)

    def __repr__(self) -> str:
        return f"<tricodec.nvcomp.BatchArray of {len(self)}>"


def _whole(arrays: Sequence[Array | None]) -> BatchArray | None:
    found = [array for array in arrays if array is not None]
    return BatchArray(found) if len(found) == len(arrays) else None


def only(function: str, **given: Any) -> Any:
    """The value of the one keyword that is not None: the documented names of one argument."""
    values = [value for value in given.values() if value is not None]
    if len(values) != 1:
        raise TypeError(f"{function}() takes one of {', '.join(given)}; {len(values)} are given")
    return values[0]


@overload
def as_arrays(sources: Sequence[Any], cuda_stream: int = 0) -> BatchArray: ...
@overload
def as_arrays(
    buffer: Any, offsets: Sequence[SupportsIndex], sizes: Sequence[SupportsIndex], cuda_stream: int = 0
) -> BatchArray: ...
def as_arrays(*arguments: Any, **keywords: Any) -> BatchArray:
    """Wrap the memory of several objects, or several parts of one object's memory. Nothing is copied. See `as_array`.

    Args:
        sources: anything that `as_array` takes, a list.
        buffer: instead of ``sources``, one C-contiguous object; the entries have its element type and one axis.
        offsets: first byte of each entry in ``buffer``.
        sizes: bytes of each entry.
        cuda_stream: cudaStream_t as an int, on which the memory is written.

    Raises:
        ValueError: for a part that ends past the buffer, or that is no number of elements.
    """
    of_one = "buffer" in keywords or "offsets" in keywords or len(arguments) > 2
    of_one = of_one or (len(arguments) == 2 and isinstance(arguments[1], Sequence))
    return _parts(*arguments, **keywords) if of_one else _wrapped(*arguments, **keywords)


def _wrapped(sources: Sequence[Any], cuda_stream: int = 0) -> BatchArray:
    return BatchArray(as_array(source, cuda_stream) for source in sources)


def _parts(
    buffer: Any, offsets: Sequence[SupportsIndex], sizes: Sequence[SupportsIndex], cuda_stream: int = 0
) -> BatchArray:
    whole = as_array(buffer, cuda_stream)
    if len(offsets) != len(sizes):
        raise ValueError(f"as_arrays: {len(offsets)} offsets for {len(sizes)} sizes; give one of each for an entry")
    if whole.buffer_size != whole.size * whole.item_size:
        raise ValueError(f"as_arrays: the buffer has strides {whole.strides}; its elements must lie side by side")
    return BatchArray(
        as_array(_Part(whole, operator.index(offset), operator.index(size)))
        for offset, size in zip(offsets, sizes, strict=True)
    )


class _Part:
    """A part of an array, which it keeps. It has the interface of the array's place."""

    def __init__(self, whole: Array, offset: int, size: int) -> None:
        if offset < 0 or size < 0 or offset + size > whole.buffer_size:
            raise ValueError(
                f"as_arrays: {size} bytes at offset {offset} do not lie within the {whole.buffer_size} of the buffer"
            )
        if size % whole.item_size:
            raise ValueError(f"as_arrays: {size} bytes are no number of elements of {whole.item_size} bytes")
        self.whole = whole
        on_host = whole.buffer_kind is ArrayBufferKind.STRIDED_HOST
        theirs = whole.__array_interface__ if on_host else whole.__cuda_array_interface__
        address, read_only = theirs["data"]
        part = dict(theirs, data=(address + offset, read_only), shape=(size // whole.item_size,), strides=None)
        setattr(self, "__array_interface__" if on_host else "__cuda_array_interface__", part)


def from_dlpack(source: Any, cuda_stream: int = 0) -> Array:
    """Wrap memory that is exported by DLPack; nothing is copied.

    Args:
        source: a capsule, which is used up, or an object with __dlpack__ and __dlpack_device__.
        cuda_stream: cudaStream_t as an int, on which the memory is written.

    Raises:
        TypeError: if it is neither.
        ValueError: if the capsule was used before.
    """
    return dlpack_as_array(source, cuda_stream)


def to_npy(array: Any) -> npt.NDArray[np.uint8]:
    """The bytes that numpy.save writes of an array, which may be on a GPU: uint8 [N], in C order and little-endian.

    Python objects are a TypeError, other elements that are not numbers a ValueError.
    """
    import numpy as np

    if isinstance(array, DeviceArray):
        array = array.numpy()
    host = np.asarray(array.cpu() if hasattr(array, "cpu") else array, order="C")
    if host.dtype.hasobject:
        raise TypeError(f"an array of {host.dtype} holds references to Python objects; convert it to numbers")
    if host.dtype.kind not in "biufc":
        raise ValueError(f"an array of {host.dtype} cannot be compressed with a header; its elements must be numbers")
    host = host.astype(host.dtype.newbyteorder("<"), copy=False)
    header = make_npy_header(host.dtype.str, host.shape)
    file = np.empty(len(header) + host.nbytes, np.uint8)
    file[: len(header)] = np.frombuffer(header, np.uint8)
    file[len(header) :] = host.reshape(-1).view(np.uint8)
    return file


def from_npy(file: Array | npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """The array in the bytes of a .npy file; nothing is copied. Raises the errors of `Codec.decode_npy`."""
    import numpy as np

    typestr, shape, start = read_npy_header(file)
    # The elements stay aligned: headers are multiples of 64 bytes.
    elements: npt.NDArray[Any] = np.asarray(file)[start:].view(typestr)
    return elements.reshape(shape)
