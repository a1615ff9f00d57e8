# SPDX-License-Identifier: Apache-2.0
"""The three kinds of pictures that Encode() takes, as one array in host memory."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec

from ._frame import DecodedFrame

Array = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True, slots=True)
class InputFormat:
    """One format string of CreateEncoder.

    Attributes:
        word: as ``tricodec.Encoder.encode`` spells it.
        encoded: FFmpeg's name of what is encoded.
        samples: of the picture for each pixel, as a fraction of 2.
        itemsize: bytes of a sample.
    """

    word: str
    encoded: str
    rows: tuple[int, int]  # rows of the stacked picture: H * rows[0] / rows[1]
    columns: int
    itemsize: int

    def shape(self, width: int, height: int) -> tuple[int, int]:
        """Of the picture as rows of samples."""
        return height * self.rows[0] // self.rows[1], width * self.columns


_FORMATS = {
    "NV12": InputFormat("NV12", "yuv420p", (3, 2), 1, 1),
    "YUV420": InputFormat("YUV420", "yuv420p", (3, 2), 1, 1),
    "IYUV": InputFormat("YUV420", "yuv420p", (3, 2), 1, 1),
    "YV12": InputFormat("YV12", "yuv420p", (3, 2), 1, 1),
    "NV16": InputFormat("NV16", "yuv422p", (2, 1), 1, 1),
    "YUV422": InputFormat("YUV422", "yuv422p", (2, 1), 1, 1),
    "YUV444": InputFormat("YUV444", "yuv444p", (3, 1), 1, 1),
    "P010": InputFormat("P010", "yuv420p10le", (3, 2), 1, 2),
    "P016": InputFormat("P016", "yuv420p10le", (3, 2), 1, 2),
    "YUV420_10BIT": InputFormat("P010", "yuv420p10le", (3, 2), 1, 2),
    "P210": InputFormat("P210", "yuv422p10le", (2, 1), 1, 2),
    "YUV444_10BIT": InputFormat("YUV444_16BIT", "yuv444p10le", (3, 1), 1, 2),
    "YUV444_16BIT": InputFormat("YUV444_16BIT", "yuv444p10le", (3, 1), 1, 2),
    "ARGB": InputFormat("ARGB", "yuv420p", (1, 1), 4, 1),
    "ARBG": InputFormat("ARGB", "yuv420p", (1, 1), 4, 1),  # as the document spells it
    "ABGR": InputFormat("ABGR", "yuv420p", (1, 1), 4, 1),
}


def input_format(name: object) -> InputFormat:
    """The format that a string names, in any case. Raises ValueError listing the accepted ones."""
    found = _FORMATS.get(str(name).upper())
    if found is None:
        message = f"Error. Unsupported format. {name!r} is not one of {', '.join(_FORMATS)}"
        raise ValueError(message)
    return found


def _has_gpu() -> bool:
    try:
        tricodec.resolve_device("cuda:0")
    except tricodec.UnsupportedError:
        return True
    except tricodec.Error:
        return False
    return True


class _HostPointer:
    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def _plane(plane: Any) -> Array:
    """A plane that a ``cuda()`` method gave, in host memory."""
    if hasattr(plane, "__array_interface__"):
        return np.asarray(plane)
    if not hasattr(plane, "__cuda_array_interface__"):
        message = f"cuda() must give objects with __cuda_array_interface__, one a plane, not {type(plane).__name__}"
        raise TypeError(message)
    interface = dict(plane.__cuda_array_interface__)
    if _has_gpu():
        return _copied(plane)
    # Without a GPU an address can only be one of the host: a program that was written for device memory and runs on
    # a stand-in of it.
    wanted = {key: interface[key] for key in ("shape", "typestr", "data", "strides") if interface.get(key) is not None}
    wanted["shape"] = tuple(int(extent) for extent in wanted["shape"])
    wanted["data"] = (int(interface["data"][0]), True)
    if "strides" in wanted:
        wanted["strides"] = tuple(int(step) for step in wanted["strides"])
    if wanted["typestr"] == "B":
        wanted["typestr"] = "|u1"
    elif wanted["typestr"] == "|u2":
        wanted["typestr"] = "<u2"
    return np.asarray(_HostPointer({"version": 3, **wanted}))


def _copied(memory: Any) -> Array:
    """A copy in host memory of something in device memory, by the library that made it, or by torch or cupy."""
    for method in ("cpu", "get"):
        if hasattr(memory, method):
            return np.asarray(getattr(memory, method)())
    for module, convert in (("torch", "as_tensor"), ("cupy", "asarray")):
        try:
            library = __import__(module)
        except ImportError:
            continue
        found = getattr(library, convert)(memory)
        return np.asarray(found.cpu() if module == "torch" else found.get())
    message = "the picture is in device memory, which is read through torch or cupy; install one of them"
    raise tricodec.UnsupportedError(message)


class _DeviceRows:
    """Planes in device memory that follow one another, as one array of rows."""

    def __init__(self, interface: dict[str, Any], planes: list[Any]) -> None:
        self.__cuda_array_interface__ = interface
        self._planes = planes  # keeps the memory


def _stacked(planes: list[Any], fmt: InputFormat, width: int, height: int) -> _DeviceRows | None:
    """The planes of ``cuda()`` as one array, if they are packed and follow one another in device memory."""
    if any(hasattr(plane, "__array_interface__") or not hasattr(plane, "__cuda_array_interface__") for plane in planes):
        return None
    interfaces: list[dict[str, Any]] = [plane.__cuda_array_interface__ for plane in planes]
    at = int(interfaces[0]["data"][0])
    first = at
    for interface in interfaces:
        shape = [int(extent) for extent in interface["shape"]]
        size, packed = fmt.itemsize, True
        for extent, step in zip(reversed(shape), reversed(interface.get("strides") or [0] * len(shape)), strict=True):
            packed = packed and step in (0, size)
            size *= extent
        if not packed or int(interface["data"][0]) != at:
            return None
        at += size
    rows, columns = fmt.shape(width, height)
    if at - first != rows * columns * fmt.itemsize:
        return None
    facts = dict(interfaces[0])
    facts.update(shape=(rows, columns), strides=None, typestr="|u1" if fmt.itemsize == 1 else "<u2")
    return _DeviceRows(facts, planes)


def _tensor(frame: Any, fmt: InputFormat, width: int, height: int) -> Any:
    """A tensor in host memory as an array, one in device memory as it is."""
    if _is_in_host_memory(frame):
        return _checked(np.asarray(frame), fmt, width, height)
    _expect_shape(tuple(int(extent) for extent in frame.shape), fmt, width, height)
    return frame


def _is_in_host_memory(tensor: Any) -> bool:
    return int(tensor.__dlpack_device__()[0]) in (1, 3)


def picture_of(frame: Any, fmt: InputFormat, width: int, height: int, *, host_allowed: bool) -> Any:
    """The picture as an array whose bytes are the picture's in order, in host memory or where it is.

    Raises:
        RuntimeError: an array in host memory where device memory was announced.
        ValueError: the shape is not one of this format and size.
        TypeError: it is none of the three kinds.
    """
    if isinstance(frame, DecodedFrame):
        return _tensor(frame, fmt, width, height)
    if isinstance(frame, (np.ndarray, bytes, bytearray, memoryview, ctypes.Array, list)):
        if not host_allowed:
            message = (
                "incorrect usage of CPU input buffer: the encoder was made with usecpuinputbuffer=False, which means "
                "device memory; make it with True to encode arrays in host memory"
            )
            raise RuntimeError(message)
        return _flat(frame, fmt, width, height)
    if hasattr(frame, "__dlpack_device__"):
        return _tensor(frame, fmt, width, height)
    if hasattr(frame, "cuda"):
        planes = frame.cuda()
        listed = list(planes) if isinstance(planes, Sequence) else [planes]
        if _has_gpu() and (stacked := _stacked(listed, fmt, width, height)) is not None:
            return stacked
        return _joined([_plane(plane) for plane in listed], fmt, width, height)
    message = (
        "Encode takes a 1-D array of bytes, an object whose cuda() gives its planes, or a tensor, not "
        f"{type(frame).__name__}"
    )
    raise TypeError(message)


def _flat(frame: Any, fmt: InputFormat, width: int, height: int) -> Array:
    array = np.frombuffer(frame, np.uint8) if not isinstance(frame, (np.ndarray, list)) else np.asarray(frame)
    if array.dtype != np.uint8 and not (fmt.itemsize == 2 and array.dtype == np.uint16):
        array = array.astype(np.uint8, casting="same_kind" if array.dtype.kind != "i" else "unsafe")
    rows, columns = fmt.shape(width, height)
    if array.nbytes != rows * columns * fmt.itemsize:
        message = (
            f"the frame has {array.nbytes} bytes (shape {array.shape}); {fmt.word} of {width}x{height} has "
            f"{rows * columns * fmt.itemsize}"
        )
        raise ValueError(message)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8 if fmt.itemsize == 1 else np.uint16)


def _expect_shape(given: tuple[int, ...], fmt: InputFormat, width: int, height: int) -> None:
    """[rows, W], also with leading axes of 1; [H, W, 4] for ARGB and ABGR; [3, H, W] for three planes."""
    shape = given
    while len(shape) > 2 and shape[0] == 1:
        shape = shape[1:]
    rows, columns = fmt.shape(width, height)
    if len(shape) == 3 and fmt.columns == 4 and shape == (height, width, 4):
        shape = (rows, columns)
    if len(shape) == 3 and fmt.rows == (3, 1) and shape == (3, height, width):
        shape = (rows, columns)
    if shape != (rows, columns):
        times = f"{fmt.rows[0] / fmt.rows[1]:g}"
        message = (
            f"Tensor height :{shape[0] if shape else 0} must be {times} times the actual height :{height} passed to "
            f"encoder, and its width {columns}; its shape is {given}"
        )
        raise ValueError(message)


def _checked(array: Array, fmt: InputFormat, width: int, height: int) -> Array:
    _expect_shape(array.shape, fmt, width, height)
    wanted = np.uint8 if fmt.itemsize == 1 else np.uint16
    if array.dtype != wanted:
        message = f"the tensor's elements are {array.dtype}; {fmt.word} holds {np.dtype(wanted)}"
        raise TypeError(message)
    return np.ascontiguousarray(array).reshape(-1)


def _joined(planes: list[Array], fmt: InputFormat, width: int, height: int) -> Array:
    wanted = np.uint8 if fmt.itemsize == 1 else np.uint16
    first = planes[0].shape[:2]
    if first != (height, width):
        message = f"Invalid shape: {list(planes[0].shape)}, expected: {[height, width, 4 if fmt.columns == 4 else 1]}"
        raise ValueError(message)
    # Ten-bit planes are announced as bytes by older programs: two for each sample.
    parts = [np.ascontiguousarray(plane).reshape(-1) for plane in planes]
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if joined.dtype != wanted:
        message = f"the planes' elements are {joined.dtype}; {fmt.word} holds {np.dtype(wanted)}"
        raise TypeError(message)
    rows, columns = fmt.shape(width, height)
    if joined.size != rows * columns:
        message = (
            f"Invalid shape: planes {[list(plane.shape) for plane in planes]} hold {joined.size} samples, expected: "
            f"{rows * columns} for {fmt.word} of {width}x{height}"
        )
        raise ValueError(message)
    return joined
