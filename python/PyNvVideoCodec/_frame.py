# SPDX-License-Identifier: Apache-2.0
"""DecodedFrame, a decoded picture that other libraries share without a copy."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec

from ._bitstream import Message
from ._enums import OutputColorType, Pixel_Format
from ._layout import CallableStr, CallableTuple, FrameLayout, as_frame
from ._packet import NO_TIMESTAMP
from ._surface import make_surface
from ._views import CAIMemoryView, CompletedEvent, Statistics, parse_statistics

if sys.version_info >= (3, 12):

    class BufferExporter:
        """Base of classes with a ``__buffer__`` method, which Python itself calls since 3.12 (PEP 688)."""

        __slots__ = ()

else:
    from tricodec._tricodec import BufferExporter


_DLPACK_CPU = (1, 0)
_NOT_ON_HOST = (
    "the frame is in device memory; use DLPack or cuda(), copy GetPtrToPlane(0) to the host, or decode with "
    "usedevicememory=False"
)
_NUMPY_EXPORTS_VERSIONED_DLPACK = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class _HostMemory:
    """Memory in the form of numpy, and the object that keeps it alive."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self._owner = owner


class DecodedFrame(BufferExporter):
    """A decoded picture with separate memory.

    The memory stays valid and unchanged as long as the frame, one of its views, or an array or tensor made from it
    exists. ``np.asarray(frame)``, ``memoryview(frame)``, ``np.from_dlpack(frame)`` and ``torch.from_dlpack(frame)``
    share it, with the shape ``frame.shape``. Frames in device memory share it by ``torch.from_dlpack(frame)``,
    ``cupy.from_dlpack(frame)`` and the views of ``cuda()``.

    Thread safety: any thread may read a frame.
    """

    __slots__ = (
        "__weakref__", "_address", "_color", "_device_array", "_event", "_layout", "_messages", "_owner",
        "_statistics", "_stream", "_timestamp",
    )  # fmt: skip

    _layout: FrameLayout
    _address: int
    _owner: object
    _device_array: tricodec.DeviceArray | None  # the samples of a frame on a GPU
    _stream: int
    _timestamp: int
    _messages: list[Message] | None
    _color: tricodec.video.ColorDescription | None
    _event: CompletedEvent | None
    _statistics: bytes | None  # empty: requested, but the decoder cannot give them

    def __init__(self) -> None:
        """Raise TypeError: only a decoder makes frames."""
        message = "No constructor defined! Frames are made by PyNvDecoder.Decode()"
        raise TypeError(message)

    @property
    def timestamp(self) -> int:
        """Presentation time in units of the stream's time base; INT64_MIN if the stream has none."""
        return self._timestamp

    @property
    def format(self) -> Pixel_Format:
        """Layout of the samples."""
        return self._layout.pixel_format

    @property
    def shape(self) -> CallableTuple:
        """Shape of the array of all planes: (H * 3 / 2, W) for NV12. ``frame.shape()`` gives the same."""
        return self._layout.shape

    @property
    def strides(self) -> CallableTuple:
        """Distance in elements from one entry to the next along each axis. ``frame.strides()`` gives the same."""
        return self._layout.strides

    @property
    def dtype(self) -> CallableStr:
        """``"|u1"`` or ``"|u2"``. ``frame.dtype()`` gives the same."""
        return self._layout.typestr

    def framesize(self) -> int:
        """Size of the frame in bytes: all planes, which are contiguous from ``GetPtrToPlane(0)`` on."""
        return self._layout.size_bytes

    def getPTS(self) -> int:
        """The same as ``timestamp``."""
        return self._timestamp

    def getSEIMessage(self) -> list[Message]:
        """SEI messages of the picture, from a decoder with ``enableSEIMessage``.

        Returns:
            A pair for each message: a dict with "sei_type" (equal to members of ``SEI_TYPE``) and "sei_uncompressed",
            and bytes as integers. The bytes are the coded payload. If "sei_uncompressed" is 1, they are a little-endian
            C structure: a time code (64 bytes), a mastering display (24), light levels (8) or a transfer function (1).

        Raises:
            RuntimeError: the decoder was made without ``enableSEIMessage``.
        """
        if self._messages is None:
            message = "getSEIMessage() needs a decoder made with enableSEIMessage=True"
            raise RuntimeError(message)
        return list(self._messages)

    @property
    def decode_stats_size(self) -> int:
        """Size of the decode statistics in bytes; 0 if there are none."""
        return len(self._statistics or b"")

    @property
    def decode_stats_ptr(self) -> int | None:
        """Address of the decode statistics in host memory, valid as long as the frame; None if there are none."""
        return np.frombuffer(self._statistics, np.uint8).ctypes.data if self._statistics else None

    def getRawDecodeStats(self) -> list[int]:
        """The bytes of the decode statistics, or none; docs/migration/pynvvideocodec.md has their layout."""
        return list(self._statistics or b"")

    def ParseDecodeStats(self) -> Statistics:
        """Quantizers, types and motion vectors of the coded picture's 16x16 blocks, row by row.

        Returns:
            Lists by name. ``qp_luma`` is the quantizer. ``cu_type`` is 0 for intra, 1 for inter, 2 for skipped and 3
            for PCM. ``mv0_x``, ``mv0_y``, ``mv1_x`` and ``mv1_y`` are the vectors into both lists of references, in
            quarters of a sample. The lists are empty without ``enableDecodeStats``. With it they are None if the
            decoder cannot give them: libavcodec for HEVC, and NVDEC if the driver does not support them.
        """
        return parse_statistics(self._statistics)

    def GetPtrToPlane(self, index: int) -> int:
        """Address of a plane, in host or device memory.

        Raises:
            IndexError: there is no such plane.
        """
        number = operator.index(index)
        planes = self._layout.planes
        if not 0 <= number < len(planes):
            message = f"there is no plane {number}; a {self.format.name} frame has planes 0 to {len(planes) - 1}"
            raise IndexError(message)
        return self._address + planes[number].offset

    @property
    def decoder_stream_event(self) -> int:
        """Handle of a CUDA event after which the frame is complete; 0 for a frame in host memory, which is complete.

        The call waits for the frame. The event exists as long as the frame.
        """
        if self._device_array is None:
            return 0
        if self._event is None:
            self._device_array.wait()
            self._event = CompletedEvent(self._device_array.__dlpack_device__()[1])
        return self._event.handle

    def nv12_to_rgb(self) -> DecodedFrame:
        """The frame as 8-bit RGB in planes (RGBP), shape (3, H, W), on the same device.

        Raises:
            ValueError: the format is not NV12; decode with ``outputColorType=OutputColorType.RGBP`` for all formats.
        """
        if self.format is not Pixel_Format.NV12:
            message = (
                f"nv12_to_rgb() takes NV12 frames, this one is {self.format.name}; decode with OutputColorType.RGBP"
            )
            raise ValueError(message)
        array = self._device_array
        samples = np.asarray(self) if array is None else array.numpy()
        picture = as_frame(samples, self._layout, self._color)
        device = None if array is None else f"cuda:{array.__dlpack_device__()[1]}"
        surface = make_surface(picture, OutputColorType.RGBP, device)
        return make_frame(*surface, self.timestamp, self._stream, color=self._color)

    def cuda(self) -> list[CAIMemoryView]:
        """A view of each plane; strides are in bytes."""
        return [self._view(plane.shape, plane.strides, plane.offset) for plane in self._layout.planes]

    def nvcv_image(self) -> list[CAIMemoryView]:
        """The whole frame as one view of a single channel, for ``cvcuda.as_image``: [H * 3 / 2, W, 1] for NV12.

        The stride of the second axis is 2 (3 for YUV444): a convention of that function, not a distance in memory. The
        frame itself does not change.

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
        view = CAIMemoryView(shape, strides, self._layout.typestr, self._stream, self._address + offset, readonly=False)
        view._owner = self
        if self._device_array is not None:
            view._gpu = self._device_array.__dlpack_device__()[1]
        else:
            view._host_strides = tuple(strides if host_strides is None else host_strides)
        return view

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
        """The whole frame as one array. Only frames in device memory have it."""
        if self._device_array is None:
            message = "the frame is in host memory: it has __array_interface__"
            raise AttributeError(message)
        return self._device_array.__cuda_array_interface__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The frame as a numpy array. Raises TypeError for a frame in device memory."""
        if self._device_array is not None:
            raise TypeError(_NOT_ON_HOST)
        array = self._as_array()
        return array.astype(dtype or array.dtype, copy=bool(copy))

    def __buffer__(self, flags: int) -> memoryview:
        if self._device_array is not None:
            raise BufferError(_NOT_ON_HOST)
        return self._as_array().data

    def __dlpack_device__(self) -> tuple[int, int]:
        """(device type, device number): (1, 0) is host memory, (2, N) the memory of GPU N."""
        return _DLPACK_CPU if self._device_array is None else self._device_array.__dlpack_device__()

    def __dlpack__(
        self,
        stream: int | None = None,
        *,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule that shares the frame's memory or owns a copy.

        Args:
            stream: the consumer's CUDA stream, on which device memory will be ready; None or 1 is the legacy default
                stream. Host memory is always ready.
            max_version: the newest DLPack version that the consumer reads.
            dl_device: the device that the consumer wants: the frame's own device, or (1, 0) for a copy on the host.
            copy: True makes a copy; None and False share the memory.

        Raises:
            BufferError: ``dl_device`` is another device.
        """
        if self._device_array is not None:
            return self._device_array.__dlpack__(
                stream=stream or None, max_version=max_version, dl_device=dl_device, copy=copy
            )
        if dl_device is not None and tuple(dl_device) != _DLPACK_CPU:
            message = f"the frame is in host memory, device (1, 0), and cannot be exported to {tuple(dl_device)}"
            raise BufferError(message)
        array = self._as_array()
        if copy:
            array = array.copy()
        if _NUMPY_EXPORTS_VERSIONED_DLPACK and max_version is not None:
            return array.__dlpack__(max_version=max_version)
        return array.__dlpack__()

    def _as_array(self) -> npt.NDArray[Any]:
        """An array over the frame's memory that keeps the frame alive; the frame's buffer is made from it."""
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
    color: tricodec.video.ColorDescription | None = None,
    statistics: bytes | None = None,
) -> DecodedFrame:
    """A frame over packed memory that ``owner`` keeps alive: a tricodec.DeviceArray for a frame on a GPU."""
    frame = DecodedFrame.__new__(DecodedFrame)
    frame._layout, frame._address, frame._owner = layout, address, owner
    frame._device_array = owner if isinstance(owner, tricodec.DeviceArray) else None
    frame._timestamp, frame._stream, frame._messages = timestamp, stream, messages
    frame._color, frame._event, frame._statistics = color, None, statistics
    return frame


def deliver(
    frame: tricodec.Frame,
    color: OutputColorType,
    device: str | None,
    stream: int,
    messages: list[Message] | None = None,
    *,
    has_statistics: bool = False,
) -> DecodedFrame:
    """A decoded frame as a DecodedFrame, complete on the default stream and on ``stream``; see `make_surface`."""
    layout, address, owner = make_surface(frame, color, device)
    if isinstance(owner, tricodec.DeviceArray):
        # Programs use the memory by its address, on one of these streams.
        owner.wait_on(None)
        if stream:
            owner.wait_on(stream)
    timestamp = NO_TIMESTAMP if frame.pts is None else frame.pts
    statistics = frame.block_statistics or b"" if has_statistics else None
    return make_frame(layout, address, owner, timestamp, stream, messages, frame.color, statistics)
