# SPDX-License-Identifier: Apache-2.0
"""Pictures for Encode(): from each of the three accepted kinds to one array."""

from __future__ import annotations

import ctypes
import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec._tricodec import as_array

from ._frame import DecodedFrame

Array = npt.NDArray[Any]

#: CUDA's default stream in the CUDA array interface and DLPack.
LEGACY_STREAM = 1


@dataclasses.dataclass(frozen=True, slots=True)
class InputFormat:
    """One format string of CreateEncoder.

    Attributes:
        name: the name that ``tricodec.Encoder.encode`` takes.
        encoded: FFmpeg's name of the pixel format that is encoded.
        rows: numerator and denominator of the rows of all planes, as a multiple of the height.
        columns: samples in a row, as a multiple of the width.
        itemsize: size of a sample in bytes.
    """

    name: str
    encoded: str
    rows: tuple[int, int]
    columns: int
    itemsize: int

    def shape(self, width: int, height: int) -> tuple[int, int]:
        """(rows, samples in a row) of all planes."""
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
    """The format of a name, in upper or lower case. Raises ValueError with the accepted names."""
    found = _FORMATS.get(str(name).upper())
    if found is None:
        message = f"Error. Unsupported format. {name!r} is not one of {', '.join(_FORMATS)}"
        raise ValueError(message)
    return found


def _has_gpu() -> bool:
    try:
        tricodec.video.resolve_device("cuda:0")
    except tricodec.UnsupportedError:
        return True
    except tricodec.Error:
        return False
    return True


#: Types as older programs write them, and as the interface defines them.
_TYPESTRS = {"B": "|u1", "|u2": "<u2"}


class _HostPointer:
    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def _plane(plane: Any, stream: int) -> Array:
    """A plane of ``cuda()`` in host memory. ``stream`` is the stream that writes it, unless the plane names one."""
    if hasattr(plane, "__array_interface__"):
        return np.asarray(plane)
    if not hasattr(plane, "__cuda_array_interface__"):
        message = f"cuda() must return objects with __cuda_array_interface__, one a plane, not {type(plane).__name__}"
        raise TypeError(message)
    interface = _ordered(plane.__cuda_array_interface__, stream)
    interface["typestr"] = _TYPESTRS.get(interface["typestr"], interface["typestr"])
    if _has_gpu():
        return _copied(interface, plane)
    # Without a GPU the address must be a host address: the program was written for device memory.
    wanted = {key: interface[key] for key in ("shape", "typestr", "data", "strides") if interface.get(key) is not None}
    wanted["shape"] = tuple(int(extent) for extent in wanted["shape"])
    wanted["data"] = (int(interface["data"][0]), True)
    if "strides" in wanted:
        wanted["strides"] = tuple(int(step) for step in wanted["strides"])
    return np.asarray(_HostPointer({"version": 3, **wanted}))


class _DeviceMemory:
    """GPU memory by its interface: a plane, or contiguous planes as one array of rows."""

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__cuda_array_interface__ = interface
        self._owner = owner  # keeps the memory alive


def _copied(interface: dict[str, Any], owner: object) -> Array:
    """A plane copied to host memory in one piece, including the padding of its rows."""
    shape, dtype = tuple(int(extent) for extent in interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")
    if strides is not None:
        strides = tuple(int(step) for step in strides)
        reach = sum((extent - 1) * step for extent, step in zip(shape, strides, strict=True)) + dtype.itemsize
    else:
        reach = math.prod(shape) * dtype.itemsize
    copy = as_array(_DeviceMemory({**interface, "shape": (reach,), "strides": None, "typestr": "|u1"}, owner)).cpu()
    if copy is None:
        message = "the picture could not be copied from device memory; the log of tricodec has the reason"
        raise tricodec.DeviceError(message)
    plane: Array = np.ndarray(shape, dtype, np.asarray(copy), strides=strides)
    return plane


def _ordered(interface: Mapping[str, Any], stream: int) -> dict[str, Any]:
    """The interface with a stream to wait for, and strides in bytes.

    If the key is missing, as in the document's AppCAI, it is the stream of CreateEncoder. None means no wait. NVIDIA's
    samples count the inner strides of interleaved 16-bit chroma as if its samples were bytes.
    """
    ordered: dict[str, Any] = {"stream": stream, **interface}
    shape, strides = interface["shape"], interface.get("strides")
    size = np.dtype(_TYPESTRS.get(interface["typestr"], interface["typestr"])).itemsize
    if strides is not None and len(shape) == 3 and int(shape[2]) > 1 and int(strides[2]) < size:
        ordered["strides"] = (int(strides[0]), int(shape[2]) * size, size)
    return ordered


def _stacked(planes: list[Any], fmt: InputFormat, width: int, height: int, stream: int) -> _DeviceMemory | None:
    """The planes of ``cuda()`` as one array, if they are packed and contiguous in device memory."""
    if any(hasattr(plane, "__array_interface__") or not hasattr(plane, "__cuda_array_interface__") for plane in planes):
        return None
    interfaces = [_ordered(plane.__cuda_array_interface__, stream) for plane in planes]
    streams = {interface["stream"] for interface in interfaces} - {None}
    if len(streams) > 1:
        return None  # one array can name only one stream
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
    facts["stream"] = streams.pop() if streams else None
    return _DeviceMemory(facts, planes)


def _tensor(frame: Any, fmt: InputFormat, width: int, height: int, stream: int) -> Any:
    """A tensor in host memory as an array, or a tensor in device memory without a copy."""
    if _is_in_host_memory(frame):
        samples = frame.to_ndarray() if isinstance(frame, tricodec.Frame) else np.asarray(frame)
        return _checked(samples, fmt, width, height)
    _expect_shape(tuple(int(extent) for extent in frame.shape), fmt, width, height)
    # DLPack already waits for the stream of the tensor's library.
    return frame if stream == LEGACY_STREAM else as_array(frame, stream)


def _is_in_host_memory(tensor: Any) -> bool:
    return int(tensor.__dlpack_device__()[0]) in (1, 3)


def picture_of(
    frame: Any, fmt: InputFormat, width: int, height: int, *, host_allowed: bool, stream: int = LEGACY_STREAM
) -> Any:
    """The picture as one array with its bytes in order, in host memory or on the GPU.

    GPU memory is read after the work that is queued on ``stream``.

    Raises:
        RuntimeError: the array is in host memory, and the encoder was made for device memory.
        ValueError: the shape does not fit the format and size.
        TypeError: the picture is none of the three kinds.
    """
    if isinstance(frame, DecodedFrame):
        return _tensor(frame, fmt, width, height, stream)
    if isinstance(frame, (np.ndarray, bytes, bytearray, memoryview, ctypes.Array, list)):
        if not host_allowed:
            message = (
                "incorrect usage of CPU input buffer: the encoder was made with usecpuinputbuffer=False, for "
                "pictures in device memory; make it with True to encode arrays in host memory"
            )
            raise RuntimeError(message)
        return _flat(frame, fmt, width, height)
    if hasattr(frame, "__dlpack_device__"):
        return _tensor(frame, fmt, width, height, stream)
    if hasattr(frame, "cuda"):
        planes = frame.cuda()
        listed = list(planes) if isinstance(planes, Sequence) else [planes]
        if _has_gpu() and (stacked := _stacked(listed, fmt, width, height, stream)) is not None:
            return stacked
        return _joined([_plane(plane, stream) for plane in listed], fmt, width, height)
    message = (
        "Encode takes a 1-D array of bytes, an object with a cuda() that returns its planes, or a tensor, not "
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
            f"the frame has {array.nbytes} bytes (shape {array.shape}); {fmt.name} of {width}x{height} has "
            f"{rows * columns * fmt.itemsize}"
        )
        raise ValueError(message)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8 if fmt.itemsize == 1 else np.uint16)


def _expect_shape(given: tuple[int, ...], fmt: InputFormat, width: int, height: int) -> None:
    """Accepts [rows, W], also with leading axes of size 1; [H, W, 4] for ARGB and ABGR; [3, H, W] for three planes."""
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
        message = f"the tensor's elements are {array.dtype}; {fmt.name} holds {np.dtype(wanted)}"
        raise TypeError(message)
    return np.ascontiguousarray(array).reshape(-1)


def _joined(planes: list[Array], fmt: InputFormat, width: int, height: int) -> Array:
    wanted = np.uint8 if fmt.itemsize == 1 else np.uint16
    first = planes[0].shape[:2]
    if first != (height, width):
        message = f"Invalid shape: {list(planes[0].shape)}, expected: {[height, width, 4 if fmt.columns == 4 else 1]}"
        raise ValueError(message)
    # Older programs describe ten-bit planes as bytes, two for each sample.
    parts = [np.ascontiguousarray(plane).reshape(-1) for plane in planes]
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if joined.dtype != wanted:
        message = f"the planes' elements are {joined.dtype}; {fmt.name} holds {np.dtype(wanted)}"
        raise TypeError(message)
    rows, columns = fmt.shape(width, height)
    if joined.size != rows * columns:
        message = (
            f"Invalid shape: planes {[list(plane.shape) for plane in planes]} hold {joined.size} samples, expected: "
            f"{rows * columns} for {fmt.name} of {width}x{height}"
        )
        raise ValueError(message)
    return joined


_ROW = 16384


def raw_file(path: str | os.PathLike[str]) -> Array | tricodec.DeviceArray:
    """The bytes of a file in memory of the GPU, or of the host if there is no GPU; the last row may be padded."""
    data = np.fromfile(path, np.uint8)
    if not _has_gpu():
        return data
    rows = max(1, -(-data.size // _ROW))
    padded = np.zeros((rows, _ROW), np.uint8)
    padded.reshape(-1)[: data.size] = data
    return tricodec.Frame.from_planes([padded], "gray").to("cuda:0").device_array((rows, _ROW))
