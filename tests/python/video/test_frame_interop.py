# SPDX-License-Identifier: Apache-2.0
"""Frames as memory of other libraries: numpy, memoryview, DLPack, torch. Nothing is copied unless it is asked for."""

from __future__ import annotations

import ctypes
import gc
import hashlib
from typing import Any

import numpy as np
import pytest
import transform_oracle as oracle
import tricodec
from media import ffmpeg, ffmpeg_frames, generated

CPU = (1, 0)

# format, shape of to_ndarray(), by the rows and columns of a 6 x 8 picture
PACKED_SHAPES = [
    ("gray", (6, 8)),
    ("gray10le", (6, 8)),
    ("rgb24", (6, 8, 3)),
    ("bgr24", (6, 8, 3)),
    ("yuv420p", (9, 8)),
    ("yuv420p10le", (9, 8)),
    ("nv12", (9, 8)),
    ("p010le", (9, 8)),
    ("yuv422p", (12, 8)),
    ("nv16", (12, 8)),
    ("yuv444p", (3, 6, 8)),
    ("gbrp", (3, 6, 8)),
]


def make_frame(format: str, height: int = 6, width: int = 8) -> tuple[tricodec.Frame, list[np.ndarray[Any, Any]]]:
    random = np.random.default_rng(7)
    planes = oracle.random_planes(random, format, width, height)
    return tricodec.Frame.from_planes(planes, format), planes


def decoded(name: str, index: int = 3) -> tricodec.Frame:
    return tricodec.FrameReader(generated(name))[index]


@pytest.mark.parametrize("format", [name for name, _ in PACKED_SHAPES])
@pytest.mark.parametrize(("height", "width"), [(7, 9), (1, 1)])
def test_a_frame_made_of_planes_has_them(format: str, height: int, width: int) -> None:
    frame, planes = make_frame(format, height, width)

    assert (frame.format, frame.width, frame.height) == (format, width, height)
    assert len(frame.planes) == len(planes)
    for plane, expected in zip(frame.planes, planes, strict=True):
        assert plane.shape == expected.shape
        assert plane.dtype == expected.dtype
        assert plane.nbytes == expected.nbytes
        np.testing.assert_array_equal(np.asarray(plane), expected)
    assert frame.pack() == b"".join(plane.tobytes() for plane in planes)
    assert frame.size_bytes == len(frame.pack())
    assert frame.md5() == hashlib.md5(frame.pack(), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(("format", "shape"), PACKED_SHAPES)
def test_to_ndarray_packs_an_even_picture_into_one_array(format: str, shape: tuple[int, ...]) -> None:
    frame, planes = make_frame(format)

    array = frame.to_ndarray()

    assert array.shape == shape
    assert array.dtype == oracle.plane_dtype(format)
    assert array.flags.writeable
    assert array.flags.c_contiguous
    assert array.tobytes() == b"".join(plane.tobytes() for plane in planes)


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "h264_420_10.mkv", "h264_444_odd.mkv"])
def test_arrays_of_a_decoded_frame_hold_what_ffmpeg_writes(name: str) -> None:
    expected = ffmpeg_frames(generated(name))[3]

    frame = decoded(name)

    assert frame.pack() == expected
    assert frame.to_ndarray().tobytes() == expected
    assert b"".join(np.ascontiguousarray(plane).tobytes() for plane in frame.planes) == expected


def test_a_plane_of_a_decoded_frame_is_seen_at_its_own_address_by_everyone() -> None:
    frame = decoded("h264_318x178.mp4")

    for plane in frame.planes:
        assert plane.strides[0] > plane.shape[1], "the test needs padded rows"
        array = np.asarray(plane)
        view = memoryview(plane)
        imported = np.from_dlpack(plane)
        assert array.ctypes.data == imported.ctypes.data == plane.data_ptr
        assert array.strides == imported.strides == view.strides == plane.strides
        assert array.shape == imported.shape == view.shape == plane.shape
        assert plane.__array_interface__["data"] == (plane.data_ptr, True)
        assert not array.flags.writeable
        assert view.readonly


@pytest.mark.parametrize("format", ["gray", "gray10le", "rgb24", "bgr24", "nv12", "p010le", "nv16"])
def test_a_frame_of_one_array_shares_it_by_dlpack(format: str) -> None:
    frame, _ = make_frame(format)
    address = frame.planes[0].data_ptr

    array = np.from_dlpack(frame)

    assert array.ctypes.data == address
    assert not array.flags.writeable
    assert array.tobytes() == frame.pack()
    assert frame.__dlpack_device__() == CPU


@pytest.mark.parametrize(
    "name",
    ["h264_rot90.mp4", "h264_420_10.mkv", "h264_rgb.mkv"],
)
def test_numpy_gets_the_upright_picture_as_ffmpeg_shows_it(name: str) -> None:
    path = generated(name)
    expected = np.frombuffer(ffmpeg("-i", path, "-pix_fmt rgb24 -f rawvideo -frames:v 4 -"), np.uint8)

    for index in range(4):
        picture = np.asarray(decoded(name, index))
        wanted = expected.reshape(4, *picture.shape)[index].astype(int)
        assert picture.dtype == np.uint8
        assert picture.shape[-1] == 3
        assert np.abs(picture - wanted).mean() < 4  # edges of chroma differ; a turned or gray picture is above 30
        np.testing.assert_array_equal(tricodec.asnumpy(decoded(name, index)), picture)


def test_arrays_outlive_reader_decoder_and_frame() -> None:
    path = generated("h264_bframes.mp4")
    expected = ffmpeg_frames(path)
    reader = tricodec.FrameReader(path)
    planes = [[np.asarray(plane) for plane in frame.planes] for frame in reader]
    imported = [np.from_dlpack(frame.planes[0]) for frame in reader[::10]]
    reader.close()
    del reader
    gc.collect()
    for _ in range(3):  # work that would reuse the surfaces if they were free
        list(tricodec.FrameReader(path))

    packed = [b"".join(np.ascontiguousarray(plane).tobytes() for plane in frame) for frame in planes]
    assert packed == expected
    for array, frame in zip(imported, planes[::10], strict=True):
        np.testing.assert_array_equal(array, frame[0])


@pytest.mark.needs_torch
def test_torch_shares_planes_and_frames() -> None:
    import torch

    plane = decoded("h264_318x178.mp4").planes[0]
    frame, _ = make_frame("nv12")

    tensor = torch.from_dlpack(plane)
    whole = torch.from_dlpack(frame)

    assert tensor.data_ptr() == plane.data_ptr
    assert tensor.stride() == plane.strides
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(plane))
    assert whole.data_ptr() == frame.planes[0].data_ptr
    assert torch.as_tensor(np.array(frame)).shape == (6, 8, 3)  # the picture


def test_pixels_cannot_be_written() -> None:
    plane = make_frame("gray")[0].planes[0]

    with pytest.raises(TypeError):
        memoryview(plane)[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(plane)[0, 0] = 1
    with pytest.raises(TypeError, match="not writable"):
        (ctypes.c_char * plane.nbytes).from_buffer(plane)


@pytest.mark.parametrize("to", oracle.FORMATS)
def test_convert_keeps_every_sample_of_every_pair_of_formats_or_refuses(to: str) -> None:
    random, new = np.random.default_rng(3), oracle.FORMATS[to]
    for name, old in oracle.FORMATS.items():
        planes = oracle.random_planes(random, name, 37, 5)
        frame = tricodec.Frame.from_planes(planes, name)
        same = (old.family, old.log2_w, old.log2_h) == (new.family, new.log2_w, new.log2_h)
        if not (same or (old.family, new.family) == ("gray", "yuv")) or new.depth < old.depth:
            with pytest.raises(tricodec.UnsupportedError, match=f"{name} to {to}"):
                frame.convert(to)
            continue
        found = oracle.components([np.asarray(plane) for plane in frame.convert(to).planes], to)
        for given, kept in zip(oracle.components(planes, name), found, strict=False):
            np.testing.assert_array_equal(kept, given << (new.depth - old.depth), name)
        if not same:  # gray has neutral chroma and full range
            assert all((chroma == 1 << (new.depth - 1)).all() for chroma in found[1:])
            assert frame.convert(to).color.range == "full"


@pytest.mark.parametrize(
    ("name", "to", "text"),
    [
        ("p010le", "nv12", "p010le to nv12 would lose 2 bits"),
        ("yuv422p", "nv12", "yuv422p to nv12 would resample"),
        ("rgb24", "yuv444p", "use Transform"),
    ],
)
def test_convert_says_what_it_would_lose(name: str, to: str, text: str) -> None:
    frame = tricodec.Frame.from_planes(oracle.random_planes(np.random.default_rng(3), name, 8, 6), name)
    with pytest.raises(tricodec.UnsupportedError, match=text):
        frame.convert(to)


def test_convert_moves_samples_and_changes_no_value() -> None:
    frame = decoded("h264_bframes.mp4")
    y, u, v = (np.asarray(plane) for plane in frame.planes)

    nv12 = frame.convert("nv12")

    assert (nv12.format, nv12.pts, nv12.index) == ("nv12", frame.pts, frame.index)
    np.testing.assert_array_equal(nv12.planes[0], y)
    np.testing.assert_array_equal(np.asarray(nv12.planes[1]), np.stack([u, v], axis=-1))
    assert nv12.to_ndarray().shape == (270, 320)
    assert nv12.convert("yuv420p").pack() == frame.pack()
    np.testing.assert_array_equal(frame.to_ndarray("nv12"), nv12.to_ndarray())


def test_a_picture_in_rgb24_is_shared_and_others_are_copied() -> None:
    shared, (pixels,) = make_frame("rgb24")
    converted = decoded("h264_bframes.mp4")

    assert np.asarray(shared).ctypes.data == shared.planes[0].data_ptr
    np.testing.assert_array_equal(shared.__array__(copy=False), pixels)
    assert np.array(shared).ctypes.data != shared.planes[0].data_ptr
    assert np.asarray(converted, dtype=np.float32).dtype == np.float32
    assert np.array(converted).flags.writeable
    turned = tricodec.Frame.from_planes([pixels], "rgb24", rotation=90)
    np.testing.assert_array_equal(np.asarray(turned), np.rot90(pixels, -1))
    for frame in (converted, turned):
        with pytest.raises(ValueError, match="planes"):
            frame.__array__(copy=False)
    with pytest.raises(TypeError):
        memoryview(converted)  # samples or picture? planes, pack() and np.asarray() say which


def test_one_call_brings_arrays_of_any_library_to_the_host() -> None:
    batch = np.arange(6, dtype=np.float32).reshape(2, 3)

    for array in (batch, batch.tolist(), tricodec.compress.as_array(batch), tricodec.compress.as_array(batch).cpu()):
        np.testing.assert_array_equal(tricodec.asnumpy(array), batch)
    assert tricodec.asnumpy(batch) is batch
