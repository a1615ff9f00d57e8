# SPDX-License-Identifier: Apache-2.0
"""DecodedFrame and CAIMemoryView of the drop-in PyNvVideoCodec: C30, C32, C33, C39, C43 to C51."""

from __future__ import annotations

import ctypes
import functools
import gc
import io
import itertools
import weakref

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from pynv_helpers import decode_all
from pynv_helpers.pixels import nv12_bytes

pytestmark = pytest.mark.filterwarnings("ignore:usedevicememory=True")

NV12, P016, YUV444, YUV444_16 = "h264_bframes.mp4", "hevc10.mkv", "h264_444.mp4", "hevc_444_12.mkv"
NV16, P216, ODD, ODD_444 = "h264_422.mp4", "h264_422_10.mkv", "vp9_odd.webm", "h264_444_odd.mkv"


@functools.lru_cache(maxsize=1)
def frames_of(name: str) -> list[nvc.DecodedFrame]:
    return decode_all(media.generated(name))


def frame_of(name: str) -> nvc.DecodedFrame:
    return frames_of(name)[0]


def expected_nv12() -> bytes:
    return nv12_bytes(media.ffmpeg_frames(media.generated(NV12))[0], 320, 180)


def capsule_name(capsule: object) -> bytes:
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return bytes(get_name(capsule))


# (views' shapes, their strides in bytes, their type, their offsets, DLPack's shape)
LAYOUTS = {
    NV12: (
        [[180, 320, 1], [90, 160, 2]], [[320, 1, 1], [320, 2, 1]], "|u1", [0, 57600], (270, 320),
    ),
    P016: (
        [[180, 320, 1], [90, 160, 2]], [[640, 2, 2], [640, 4, 2]], "|u2", [0, 115200], (270, 320),
    ),
    NV16: (
        [[180, 320, 1], [180, 160, 2]], [[320, 1, 1], [320, 2, 1]], "|u1", [0, 57600], (360, 320),
    ),
    P216: (
        [[180, 320, 1], [180, 160, 2]], [[640, 2, 2], [640, 4, 2]], "|u2", [0, 115200], (360, 320),
    ),
    YUV444: (
        [[180, 320, 1]] * 3, [[320, 1, 1]] * 3, "|u1", [0, 57600, 115200], (540, 320),
    ),
    YUV444_16: (
        [[180, 320, 1]] * 3, [[640, 2, 2]] * 3, "|u2", [0, 115200, 230400], (540, 320),
    ),
    ODD: (
        [[181, 322, 1], [91, 161, 2]], [[322, 1, 1], [322, 2, 1]], "|u1", [0, 58282], (272, 322),
    ),
    ODD_444: (
        [[181, 321, 1]] * 3, [[321, 1, 1]] * 3, "|u1", [0, 58101, 116202], (543, 321),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_c39_c44_c45_views_tell_shape_stride_type_and_address(name: str) -> None:
    shapes, strides, typestr, offsets, _ = LAYOUTS[name]
    frame = frame_of(name)

    views = frame.cuda()

    base = frame.GetPtrToPlane(0)
    assert type(views) is list
    assert all(type(view) is nvc.CAIMemoryView for view in views)
    assert [view.shape for view in views] == shapes
    assert [view.stride for view in views] == strides
    assert [view.data for view in views] == [view.dataptr for view in views] == [base + offset for offset in offsets]
    assert [frame.GetPtrToPlane(i) for i in range(len(views))] == [base + offset for offset in offsets]
    assert [view.__cuda_array_interface__ for view in views] == [
        {
            "version": 3, "shape": tuple(shape), "strides": tuple(stride), "typestr": typestr, "stream": 1,
            "data": (base + offset, False), "gpuIdx": 0,
        }
        for shape, stride, offset in zip(shapes, strides, offsets, strict=True)
    ]  # fmt: skip


def test_c43_frame_prints_as_documented_for_1080p() -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated("h264_1080p.mp4")))
    decoder = nvc.CreateDecoder()
    frame = next(frame for packet in demuxer for frame in decoder.Decode(packet))

    planes = "[<CAIMemoryView [1080, 1920, 1]>, <CAIMemoryView [540, 960, 2]>]"
    assert repr(frame) == str(frame) == f"<DecodedFrame [timestamp=0, format=Pixel_Format.NV12, {planes}]>"
    assert [view.shape for view in frame.cuda()] == [[1080, 1920, 1], [540, 960, 2]]  # C45
    assert (decoder.GetWidth(), decoder.GetHeight(), frame.framesize()) == (1920, 1080, 1920 * 1620)


@pytest.mark.parametrize("name", LAYOUTS)
def test_c47_shape_strides_and_dtype_are_values_that_may_be_called(name: str) -> None:
    *_, typestr, _, shape = LAYOUTS[name]
    frame = frame_of(name)

    assert frame.shape == frame.shape() == shape
    assert frame.strides == frame.strides() == (shape[1], 1)
    assert frame.dtype == frame.dtype() == typestr
    assert isinstance(frame.shape, tuple)
    assert isinstance(frame.dtype, str)
    assert all(type(extent) is int for extent in (*frame.shape, *frame.strides))


@pytest.mark.parametrize("name", LAYOUTS)
def test_c49_c50_every_format_is_shared_through_dlpack(name: str) -> None:
    *_, typestr, _, shape = LAYOUTS[name]
    frame = frame_of(name)

    tensor = np.from_dlpack(frame)

    assert (tensor.shape, tensor.dtype) == (shape, np.uint8 if typestr == "|u1" else np.uint16)
    assert tensor.ctypes.data == frame.GetPtrToPlane(0)
    assert tensor.tobytes() == bytes(frame)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"stream": 1},
        {"max_version": (0, 8)},
        {"dl_device": (1, 0)},
        {"copy": True},
        {"stream": None, "dl_device": (1, 0), "copy": True},
    ],
    ids=str,
)
def test_c51_dlpack_accepts_every_argument(arguments: dict[str, object]) -> None:
    capsule = frame_of(NV12).__dlpack__(**arguments)

    assert capsule_name(capsule) == b"dltensor"


def test_c51_copy_is_separate_memory() -> None:
    frame = frame_of(NV12)

    class Copied:
        def __dlpack__(self, **_arguments: object) -> object:
            return frame.__dlpack__(copy=True)

        def __dlpack_device__(self) -> tuple[int, int]:
            return frame.__dlpack_device__()

    copied = np.from_dlpack(Copied())  # type: ignore[arg-type]

    assert copied.tobytes() == bytes(frame)
    assert not np.shares_memory(copied, np.asarray(frame))


@pytest.mark.needs_torch
def test_c49_u2_u3_torch_shares_and_clones_frames() -> None:
    import torch

    frames = frames_of(NV12)[:4]

    tensor = torch.from_dlpack(frames[0])
    stacked = torch.stack([torch.from_dlpack(frame) for frame in frames])

    assert (tuple(tensor.shape), tensor.dtype) == ((270, 320), torch.uint8)
    assert tensor.data_ptr() == frames[0].GetPtrToPlane(0)
    assert tensor.clone().to("cpu").numpy().tobytes() == bytes(frames[0])
    assert stacked.numpy().tobytes() == b"".join(bytes(frame) for frame in frames)


@pytest.mark.parametrize(
    "share",
    [
        np.asarray,
        np.from_dlpack,
        memoryview,
        lambda frame: np.frombuffer(frame, np.uint8),
        lambda frame: frame.cuda()[0],
        lambda frame: frame.nvcv_image()[0],
        lambda frame: np.asarray(frame.cuda()[1]),
    ],
    ids=["asarray", "from_dlpack", "memoryview", "frombuffer", "view", "nvcv_image", "array of view"],
)
def test_d11_whatever_is_made_from_a_frame_keeps_its_memory(share: object) -> None:
    frame = decode_all(media.generated(NV12))[3]
    reference = weakref.ref(frame)

    shared = share(frame)  # type: ignore[operator]
    del frame
    gc.collect()
    assert reference() is not None

    del shared
    gc.collect()
    assert reference() is None


def test_buffer_protocol_gives_the_bytes() -> None:
    frame = frame_of(NV12)
    file = io.BytesIO()

    file.write(frame)

    view = memoryview(frame)
    assert (view.shape, view.format, view.itemsize, view.readonly) == ((270, 320), "B", 1, False)
    assert file.getvalue() == bytes(frame) == bytearray(frame) == expected_nv12()
    assert np.frombuffer(frame, np.uint8).ctypes.data == frame.GetPtrToPlane(0)


@pytest.mark.parametrize(("name", "step"), [(NV12, 512), ("h264_open_gop.mkv", 40), ("h264.ts", 3600)])
def test_u20_timestamps_are_in_the_demuxers_time_base(name: str, step: int) -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated(name)))
    times = [frame.timestamp for frame in frames_of(name)]

    assert [b - a for a, b in itertools.pairwise(times)] == [step] * 49
    assert step * demuxer.GetTimebaseNum() / demuxer.GetTimebaseDen() == 1 / 25
    assert [frame.getPTS() for frame in frames_of(name)] == times
