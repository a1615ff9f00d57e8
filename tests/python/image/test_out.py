# SPDX-License-Identifier: Apache-2.0
"""out=: results written straight into memory of the caller's, of any library, and nothing else of it touched."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated

SHAPE = (20, 30, 3)
OPTIONS: dict[str, Any] = {"size": SHAPE[:2]}
NORMALIZED: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


@pytest.fixture(scope="module")
def reader() -> Iterator[tricodec.FrameReader]:
    with tricodec.FrameReader(generated("h264_bframes.mp4")) as opened:
        yield opened


@pytest.fixture(scope="module")
def frame(reader: tricodec.FrameReader) -> tricodec.Frame:
    return reader[3]


class OldExporter:
    """An exporter of DLPack from before version 1, which knows no max_version."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, stream: None = None) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Interface:
    """An object with nothing but __array_interface__."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class OnTheGpu:
    """An exporter with memory elsewhere; asking for it would be a mistake."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 1)

    def __dlpack__(self, **words: Any) -> Any:
        raise AssertionError("the memory of another device was asked for")


def as_torch(array: np.ndarray) -> Any:
    return pytest.importorskip("torch").from_numpy(array)


# Each makes a writable array of SHAPE in one of the ways that out= understands.
MAKERS: dict[str, Callable[[], Any]] = {
    "numpy_every_second": lambda: np.zeros((40, 60, 6), np.uint8)[::2, ::2, ::2],
    "numpy_upside_down": lambda: np.zeros(SHAPE, np.uint8)[::-1, ::-1],
    "memoryview": lambda: memoryview(bytearray(1800)).cast("B", SHAPE),
    "old_dlpack": lambda: OldExporter(np.zeros(SHAPE, np.uint8)),
    "array_interface": lambda: Interface(np.zeros(SHAPE, np.uint8)),
    "torch": lambda: as_torch(np.zeros(SHAPE, np.uint8)),
}


def contents(out: Any) -> np.ndarray:
    return out.array if isinstance(out, (OldExporter, Interface)) else np.asarray(out)


@pytest.mark.parametrize("kind", MAKERS)
def test_transform_writes_into_any_array_and_returns_it(frame: tricodec.Frame, kind: str) -> None:
    out = MAKERS[kind]()
    transform = tricodec.Transform(**OPTIONS)

    result = transform(frame, out=out)

    assert result is out
    np.testing.assert_array_equal(contents(out), transform(frame))


def test_a_write_touches_nothing_but_the_elements_of_out(frame: tricodec.Frame) -> None:
    space = np.full((44, 70, 8), 0xA5, np.uint8)
    where = np.zeros(space.shape, bool)
    where[2:42:2, 5:65:2, 1:7:2] = True
    transform = tricodec.Transform(**OPTIONS)

    transform(frame, out=space[2:42:2, 5:65:2, 1:7:2])

    np.testing.assert_array_equal(space[where].reshape(SHAPE), transform(frame))
    assert (space[~where] == 0xA5).all()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: [1, 2], TypeError, "not list"),
        (lambda: np.zeros(SHAPE, np.float32), TypeError, "dtype float32; the result is uint8"),
        (lambda: np.zeros((20, 30), np.uint8), ValueError, r"\(20, 30\).*\(20, 30, 3\)"),
        (lambda: memoryview(bytes(1800)).cast("B", SHAPE), ValueError, "read-only"),
        (lambda: np.lib.stride_tricks.as_strided(np.zeros(1800, np.uint8), SHAPE, (30, 1, 1)), ValueError, "share"),
        (OnTheGpu, ValueError, "cuda:1.*cpu"),
    ],
)
def test_an_out_that_does_not_fit_is_refused(
    frame: tricodec.Frame, make: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        tricodec.Transform(**OPTIONS)(frame, out=make())


@pytest.mark.needs_torch
def test_a_batch_goes_frame_by_frame_into_a_tensor_of_any_strides(reader: tricodec.FrameReader) -> None:
    import torch

    options: dict[str, Any] = {"size": (24, 32), "dtype": "float32", "layout": "CHW"}
    space = torch.full((2, 3, 5, 24, 32), -7.0)
    out = space[:, :, 1].transpose(0, 0)  # frames and channels far apart

    assert reader.batch([4, 2], out=out, **options) is out

    np.testing.assert_array_equal(out.numpy(), reader.batch([4, 2], **options))
    assert (space[:, :, [0, 2, 3, 4]] == -7.0).all()


@pytest.mark.parametrize("format", [None, "nv12", "rgb24", "yuv420p16le"])
@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "vp9_odd.webm"])
def test_to_ndarray_writes_its_samples_into_out(clip: str, format: str | None) -> None:
    frame = tricodec.FrameReader(generated(clip))[1]
    expected = frame.to_ndarray(format)
    space = np.full((*expected.shape[:-1], 2 * expected.shape[-1] + 2), 77, expected.dtype)
    whole = np.zeros_like(expected)

    assert frame.to_ndarray(format, whole) is whole
    frame.to_ndarray(format, out=space[..., 1:-1:2])

    np.testing.assert_array_equal(whole, expected)
    np.testing.assert_array_equal(space[..., 1:-1:2], expected)
    assert (space[..., 0::2] == 77).all()
    assert (space[..., -1] == 77).all()


def test_pack_fills_a_buffer_of_its_size(frame: tricodec.Frame) -> None:
    expected = frame.pack()
    targets = [bytearray(len(expected)), mmap.mmap(-1, len(expected)), np.zeros((270, 160), np.uint16)]
    targets.append((ctypes.c_char * len(expected))())

    for out in targets:
        assert frame.pack(out) is out
        assert bytes(memoryview(out).cast("B") if not isinstance(out, mmap.mmap) else out[:]) == expected
    with pytest.raises(ValueError, match="86399 bytes; the result has 86400"):
        frame.pack(bytearray(len(expected) - 1))
    with pytest.raises(ValueError, match="read-only"):
        frame.pack(bytes(len(expected)))
    with pytest.raises(ValueError, match="one run"):
        frame.pack(np.zeros((len(expected), 2), np.uint8)[:, 0])
    with pytest.raises(TypeError, match="not str"):
        frame.pack("x")


@pytest.mark.needs_torch
def test_a_torch_tensor_of_bfloat16_is_written_in_place(frame: tricodec.Frame) -> None:
    import torch

    transform = tricodec.Transform(size=(20, 30), dtype="bfloat16", **NORMALIZED)
    out = torch.zeros((20, 30, 3), dtype=torch.bfloat16)

    assert transform(frame, out=out) is out

    exact = torch.from_numpy(tricodec.Transform(size=(20, 30), dtype="float32", **NORMALIZED)(frame))
    assert torch.equal(out, exact.to(torch.bfloat16))
    with pytest.raises(TypeError, match="dtype float16; the result is bfloat16"):
        transform(frame, out=out.half())


@pytest.mark.needs_torch
def test_bits_in_a_uint16_array_stand_for_bfloat16(frame: tricodec.Frame) -> None:
    import torch

    transform = tricodec.Transform(size=(20, 30), dtype="bfloat16")
    bits = np.zeros((20, 60, 3), np.uint16)
    out = tricodec.arrays.Bfloat16Array(bits[:, ::2])

    assert transform(frame, out=out) is out

    expected = transform(frame)
    np.testing.assert_array_equal(bits[:, ::2], expected.view(np.uint16))
    assert not bits[:, 1::2].any()
    assert torch.equal(torch.from_dlpack(out), torch.from_numpy(expected.view(np.uint16)).view(torch.bfloat16))
    with pytest.raises(TypeError, match="uint16, not float32"):
        tricodec.arrays.Bfloat16Array(np.zeros(3, np.float32)).__dlpack__()  # type: ignore[arg-type]
