# SPDX-License-Identifier: Apache-2.0
"""Arrays as the bytes of .npy files, which keep dtype and shape: the format of all front ends "with header"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tricodec._tricodec import CompressArray as Array
from tricodec._tricodec import DeviceArray, make_npy_header, read_npy_header

if TYPE_CHECKING:  # numpy is imported when it is first needed: `import tricodec` stays quick
    import numpy as np
    import numpy.typing as npt


def to_npy(array: Any) -> npt.NDArray[np.uint8]:
    """The bytes that numpy.save writes of an array, in C order and little-endian.

    Args:
        array: anything that numpy.asarray takes, or an array or tensor with cpu(), also on a GPU.

    Returns:
        uint8 [N].

    Raises:
        TypeError: for Python objects.
        ValueError: for other elements that are not numbers.
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
    """The array in the bytes of a .npy file; nothing is copied.

    Raises:
        CorruptDataError, UnsupportedError: as `Codec.decode_npy`.
    """
    import numpy as np

    typestr, shape, start = read_npy_header(file)
    # The elements stay aligned: headers are multiples of 64 bytes.
    elements: npt.NDArray[Any] = np.asarray(file)[start:].view(typestr)
    return elements.reshape(shape)
