# SPDX-License-Identifier: Apache-2.0
"""Frames and results of a GPU in PyTorch, CuPy and Numba without a copy, and their memory as `out=`."""

from __future__ import annotations

from typing import Any

import media
import numpy as np
import pytest
import tricodec

OPTIONS: dict[str, Any] = {"size": (64, 96), "dtype": "float32", "layout": "CHW"}


@pytest.fixture
def reader() -> tricodec.FrameReader:
    return tricodec.FrameReader(media.generated("h264_bframes.mp4"), device="cuda")


@pytest.fixture
def expected() -> Any:
    return tricodec.decode_video(media.generated("h264_bframes.mp4"), device="cpu", **OPTIONS).frames


@pytest.mark.needs_torch
def test_torch_shares_frames_planes_and_batches(reader: tricodec.FrameReader, expected: Any) -> None:
    import torch

    frame = reader[3]
    whole, luma = torch.from_dlpack(frame), torch.from_dlpack(frame.planes[0])
    batch = reader.batch(slice(None), **OPTIONS)
    tensor = torch.from_dlpack(batch)

    assert whole.device == luma.device == tensor.device == torch.device("cuda:0")
    assert whole.data_ptr() == luma.data_ptr() == frame.planes[0].data_ptr
    assert tensor.data_ptr() == batch.data_ptr
    np.testing.assert_array_equal(tensor.cpu().numpy(), expected)
    np.testing.assert_array_equal(whole.cpu().numpy(), frame.to_ndarray())
    np.testing.assert_array_equal(torch.as_tensor(frame.planes[1], device="cuda").cpu(), frame.cpu().planes[1])


@pytest.mark.needs_torch
def test_memory_of_torch_is_written_to(reader: tricodec.FrameReader, expected: Any) -> None:
    import torch

    out = torch.zeros(expected.shape, device="cuda")
    assert reader.batch(slice(None), out=out, **OPTIONS) is out
    np.testing.assert_array_equal(out.cpu().numpy(), expected)

    strided = torch.zeros((50, 64, 96, 3), device="cuda").permute(0, 3, 1, 2)  # channels last
    reader.batch(slice(None), out=strided, **OPTIONS)
    np.testing.assert_array_equal(strided.cpu().numpy(), expected)

    slots = torch.zeros((3, *expected.shape[1:]), device="cuda")
    transform = tricodec.Transform(**OPTIONS)
    transform(reader[4], out=slots[1])
    transform(reader[5].cpu(), out=slots[2])
    np.testing.assert_array_equal(slots.cpu().numpy(), [np.zeros_like(expected[0]), expected[4], expected[5]])

    half = torch.zeros((50, 3, 64, 96), dtype=torch.bfloat16, device="cuda")
    reader.batch(slice(None), out=half, **{**OPTIONS, "dtype": "bfloat16"})
    np.testing.assert_allclose(half.float().cpu().numpy(), expected, atol=1 / 128)


@pytest.mark.needs_torch
def test_frames_are_made_of_tensors(reader: tricodec.FrameReader) -> None:
    import torch

    rgb = torch.from_dlpack(tricodec.Transform()(reader[7]))
    frame = tricodec.Frame.from_planes([rgb], "rgb24")

    assert frame.device == "cuda:0"
    np.testing.assert_array_equal(frame.cpu().to_ndarray(), rgb.cpu().numpy())
    small = tricodec.Transform(size=(20, 30))
    host = tricodec.Frame.from_planes([rgb.cpu().numpy()], "rgb24")
    np.testing.assert_array_equal(small(frame).numpy(), small(host))


@pytest.mark.needs_cupy
def test_cupy_shares_frames_and_batches_and_lends_memory(reader: tricodec.FrameReader, expected: Any) -> None:
    import cupy

    batch = reader.batch(slice(None), **OPTIONS)
    by_dlpack, by_interface = cupy.from_dlpack(batch), cupy.asarray(batch)
    frame = reader[3]

    assert by_dlpack.data.ptr == by_interface.data.ptr == batch.data_ptr
    np.testing.assert_array_equal(by_dlpack.get(), expected)
    np.testing.assert_array_equal(by_interface.get(), expected)
    np.testing.assert_array_equal(cupy.asarray(frame.planes[0]).get(), np.asarray(frame.cpu().planes[0]))
    np.testing.assert_array_equal(cupy.from_dlpack(frame).get(), frame.to_ndarray())
    out = cupy.zeros(expected.shape, cupy.float32)
    reader.batch(slice(None), out=out, **OPTIONS)
    np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.needs_numba
def test_numba_shares_batches_and_lends_memory(reader: tricodec.FrameReader, expected: Any) -> None:
    cuda = pytest.importorskip("numba.cuda")
    if not cuda.is_available():
        pytest.skip("Numba has no CUDA here")
    batch = reader.batch(slice(None), **OPTIONS)
    array = cuda.as_cuda_array(batch)

    assert array.device_ctypes_pointer.value == batch.data_ptr
    np.testing.assert_array_equal(array.copy_to_host(), expected)
    out = cuda.device_array(expected.shape, np.float32)
    reader.batch(slice(None), out=out, **OPTIONS)
    np.testing.assert_array_equal(out.copy_to_host(), expected)


@pytest.mark.needs_torch
def test_an_array_outlives_the_reader_and_its_tensors_the_array(expected: Any) -> None:
    import torch

    with tricodec.FrameReader(media.generated("h264_bframes.mp4"), device="cuda") as reader:
        tensors = [torch.from_dlpack(part) for part in reader.batches(10, **OPTIONS)]
        frame = reader[1]
    del reader

    np.testing.assert_array_equal(torch.cat(tensors).cpu().numpy(), expected)
    assert (
        frame.md5() == tricodec.FrameReader(media.generated("h264_bframes.mp4"), device="cpu")[1].convert("nv12").md5()
    )
