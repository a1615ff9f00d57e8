# SPDX-License-Identifier: Apache-2.0
"""DecodedFrame: one decoded picture, shared with other libraries without a copy."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec

from ._buffer import BufferExporter
from ._enums import Pixel_Format
from ._layout import FrameLayout
from ._sei import Message
from ._views import CAIMemoryView, CallableStr, CallableTuple, device_view, host_view

_DLPACK_CPU = (1, 0)
_NOT_ON_HOST = (
    "the frame is in device memory; use DLPack or cuda(), copy GetPtrToPlane(0) to the host, or decode with "
    "usedevicememory=False"
)
_NUMPY_EXPORTS_VERSIONED_DLPACK = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class _HostMemory:
    """Memory as numpy takes it, and what keeps it valid."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self._owner = owner


class DecodedFrame(BufferExporter):
    """A decoded picture in memory of its own.

    The memory stays valid and unchanged while the frame, one of its views, an array or a tensor made from it is held.

    ``np.asarray(frame)``, ``memoryview(frame)``, ``np.from_dlpack(frame)`` and ``torch.from_dlpack(frame)`` share that
    memory; its shape is ``frame.shape``. In device memory ``torch.from_dlpack(frame)``, ``cupy.from_dlpack(frame)`` and
    the views of ``cuda()`` do. Thread safety: safe to read from any thread.
    """

    __slots__ = ("__weakref__", "_address", "_device_array", "_layout", "_messages", "_owner", "_stream", "_timestamp")

    _layout: FrameLayout
    _address: int
    _owner: object
    _device_array: tricodec.DeviceArray | None  # the samples, if they are on a GPU
    _stream: int
    _timestamp: int
    _messages: list[Message] | None

    def __init__(self) -> None:
        """Frames come from a decoder only."""
        message = "No constructor defined! Frames are made by PyNvDecoder.Decode()"
        raise TypeError(message)

    @property
    def timestamp(self) -> int:
        """Presentation time in units of the stream's time base (INT64_MIN where the stream has none)."""
        return self._timestamp

    @property
    def format(self) -> Pixel_Format:
        """How the samples lie."""
        return self._layout.pixel_format

    @property
    def shape(self) -> CallableTuple:
        """Extents of the one array that holds all planes: (H * 3 / 2, W) for NV12. May also be called."""
        return self._layout.shape

    @property
    def strides(self) -> CallableTuple:
        """Elements from one entry to the next along each axis. May also be called."""
        return self._layout.strides

    @property
    def dtype(self) -> CallableStr:
        """``"|u1"`` or ``"|u2"``. May also be called."""
        return self._layout.typestr

    def framesize(self) -> int:
        """Bytes of the frame: all planes, which follow one another from ``GetPtrToPlane(0)`` on."""
        return self._layout.size_bytes

    def getPTS(self) -> int:
        """The same as ``timestamp``."""
        return self._timestamp

    def getSEIMessage(self) -> list[Message]:
        """The picture's SEI messages, of a decoder with ``enableSEIMessage``.

        Returns:
            One pair a message: a dict with "sei_type" (equal to members of ``SEI_TYPE``) and "sei_uncompressed", and
            bytes as integers. They are the message's payload as it is coded, or, where "sei_uncompressed" is 1, a
            little-endian C structure: of a time code (64 bytes), a mastering display (24), light levels (8) or a
            transfer function (1).

        Raises:
            RuntimeError: the decoder was made without ``enableSEIMessage``.
        """
        if self._messages is None:
            message = "getSEIMessage() needs a decoder made with enableSEIMessage=True"
            raise RuntimeError(message)
        return list(self._messages)

    def GetPtrToPlane(self, index: int) -> int:
        """Address of a plane, a host address unless the frame is in device memory.

        Raises:
            IndexError: there is no such plane.
        """
        number = operator.index(index)
        planes = self._layout.planes
        if not 0 <= number < len(planes):
            message = f"plane {number} was asked for; a {self.format.name} frame has planes 0 to {len(planes) - 1}"
            raise IndexError(message)
        return self._address + planes[number].offset

    def cuda(self) -> list[CAIMemoryView]:
        """One view a plane; strides are in bytes."""
        return [self._view(plane.shape, plane.strides, plane.offset) for plane in self._layout.planes]

    def nvcv_image(self) -> list[CAIMemoryView]:
        """The whole frame as one view of a single channel, for ``cvcuda.as_image``: [H * 3 / 2, W, 1] for NV12.

        The stride of the second axis is 2 (3 for YUV444), a convention of that function's and not a distance in memory.
        The frame itself does not change.

        Raises:
            ValueError: the format is neither NV12 nor YUV444.
        """
        layout = self._layout
        middle = {Pixel_Format.NV12: 2, Pixel_Format.YUV444: 3}.get(layout.pixel_format)
        if middle is None:
            message = f"only nv12 and yuv444 supported as of now; this frame is {layout.pixel_format.name}"
            raise ValueError(message)
        rows, width = layout.shape
        return [self._view((rows, width, 1), (width, middle, 1), 0, host_strides=(width, 1, 1))]

    def _view(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
        host_strides: tuple[int, ...] | None = None,
    ) -> CAIMemoryView:
        typestr, address = self._layout.typestr, self._address + offset
        if self._device_array is not None:
            gpu = self._device_array.__dlpack_device__()[1]
            return device_view(shape, strides, typestr, self._stream, address, self, gpu)
        return host_view(shape, strides, typestr, self._stream, address, self, host_strides)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._device_array is not None:
            message = _NOT_ON_HOST
            raise AttributeError(message)
        layout = self._layout
        return {
            "version": 3,
            "shape": tuple(layout.shape),
            "typestr": layout.numpy_typestr,
            "data": (self._address, False),
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The whole frame as one array; only in device memory."""
        if self._device_array is None:
            message = "the frame is in host memory: it has __array_interface__"
            raise AttributeError(message)
        return self._device_array.__cuda_array_interface__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """numpy's conversion. Raises TypeError for a frame in device memory."""
        if self._device_array is not None:
            raise TypeError(_NOT_ON_HOST)
        array = self._as_array()
        return array.astype(dtype or array.dtype, copy=bool(copy))

    def __buffer__(self, flags: int) -> memoryview:
        if self._device_array is not None:
            raise BufferError(_NOT_ON_HOST)
        return self._as_array().data

    def __dlpack_device__(self) -> tuple[int, int]:
        """(device type, device number): (1, 0) is host memory, (2, N) that of GPU N."""
        return _DLPACK_CPU if self._device_array is None else self._device_array.__dlpack_device__()

    def __dlpack__(
        self,
        stream: int | None = None,
        *,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule that shares the frame's memory, or owns a copy of it.

        Args:
            stream: of the consumer, which device memory is made ready on: None or 1 is the legacy default stream.
                Ignored for host memory, which is ready.
            max_version: the newest DLPack version that the consumer reads.
            dl_device: where the consumer wants the data: the frame's own device, or (1, 0) for a copy on the host.
            copy: True makes a copy; None and False share.

        Raises:
            BufferError: ``dl_device`` is another device.
        """
        if self._device_array is not None:
            return self._device_array.__dlpack__(
                stream=stream or None, max_version=max_version, dl_device=dl_device, copy=copy
            )
        if dl_device is not None and tuple(dl_device) != _DLPACK_CPU:
            message = f"the frame is in host memory, device (1, 0); it was asked for on {tuple(dl_device)}"
            raise BufferError(message)
        array = self._as_array()
        if copy:
            array = array.copy()
        if _NUMPY_EXPORTS_VERSIONED_DLPACK and max_version is not None:
            return array.__dlpack__(max_version=max_version)
        return array.__dlpack__()

    def _as_array(self) -> npt.NDArray[Any]:
        """Over the frame's memory; keeps the frame. Not by way of its buffer, which is made from this array."""
        return np.asarray(_HostMemory(self.__array_interface__, self))

    def __repr__(self) -> str:
        return f"<DecodedFrame [timestamp={self._timestamp}, format={self.format}, {self.cuda()}]>"


def make_frame(
    layout: FrameLayout,
    address: int,
    owner: object,
    timestamp: int,
    stream: int,
    messages: list[Message] | None = None,
) -> DecodedFrame:
    """A frame over packed memory that ``owner`` keeps valid: a tricodec.DeviceArray if it is on a GPU."""
    frame = DecodedFrame.__new__(DecodedFrame)
    frame._layout, frame._address, frame._owner = layout, address, owner
    frame._device_array = owner if isinstance(owner, tricodec.DeviceArray) else None
    frame._timestamp, frame._stream, frame._messages = timestamp, stream, messages
    return frame
