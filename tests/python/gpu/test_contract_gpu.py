# SPDX-License-Identifier: Apache-2.0
"""Promises of a GPU beside its bytes: locked memory, contexts of the caller, and every GPU of the machine."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
from gpu_helpers import pycuda_over_ctypes as pycuda

CLIP = "h264_bframes.mp4"
OPTIONS: dict[str, Any] = {"size": (90, 160), "dtype": "float32", "layout": "CHW"}
_MEMORY_TYPE, _HOST = 2, 1  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_HOST


def is_page_locked(array: np.ndarray) -> bool:
    """Whether the driver knows the array's memory as host memory that it locked; of all other it knows nothing."""
    kind = ctypes.c_uint()
    address = ctypes.c_ulonglong(array.ctypes.data)
    result = ctypes.CDLL("libcuda.so.1").cuPointerGetAttribute(ctypes.byref(kind), _MEMORY_TYPE, address)
    return bool(result == 0 and kind.value == _HOST)


def test_pinned_results_are_page_locked_and_others_are_not() -> None:
    reader = tricodec.FrameReader(media.generated(CLIP), device="cuda")
    transform = tricodec.Transform(**OPTIONS)

    pinned = {
        "batch": reader.batch([0, 9], transform, pinned=True),
        "transform": transform(reader[3], pinned=True),
        "transform of a host frame": transform(reader[3].cpu(), pinned=True),
        "batches": next(iter(reader.batches(7, transform, pinned=True))),
    }
    plain = transform(reader[3].cpu())

    assert {way: is_page_locked(array) for way, array in pinned.items()} == dict.fromkeys(pinned, True)
    assert not is_page_locked(plain)
    np.testing.assert_array_equal(pinned["transform"], plain)


def test_a_reader_and_a_decoder_work_in_a_callers_context_and_leave_nothing_there() -> None:
    wanted = [frame.convert("nv12").md5() for frame in tricodec.FrameReader(media.generated(CLIP), device="cpu")]
    tensors = tricodec.decode_video(media.generated(CLIP), device="cpu", **OPTIONS).frames
    driver = pycuda.Driver()
    driver.init()
    context = driver.Device(0).make_context()
    context.pop()

    with tricodec.FrameReader(media.generated(CLIP), device="cuda", context=context.handle) as reader:
        read = [frame.md5() for frame in reader]
        batch = reader.batch(slice(None), **OPTIONS).numpy()
        assert reader.device == "cuda:0"
        assert reader.engine.startswith("NVDEC")
    with tricodec.Demuxer(media.generated(CLIP)) as demuxer:
        decoder = tricodec.Decoder(demuxer.stream, device="cuda", context=context.handle)
        decoded = [frame.md5() for packet in demuxer for frame in decoder.decode(packet)]
        decoded += [frame.md5() for frame in decoder.flush()]
    del reader, decoder, demuxer
    gc.collect()
    context.detach()  # the caller's: whatever was still there would break now

    assert read == decoded == wanted
    np.testing.assert_array_equal(batch, tensors)
    after = tricodec.FrameReader(media.generated(CLIP), device="cuda")  # the primary context is as it was
    assert [frame.md5() for frame in after] == wanted


def count_gpus() -> int:
    """How many GPUs can be asked for; where there is none, the tests are skipped by another word."""
    count = 0
    while True:
        try:
            tricodec.video.resolve_device(f"cuda:{count}")
        except tricodec.DeviceError:
            return max(count, 1)
        count += 1


GPUS = range(count_gpus())


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", [CLIP, "hevc10.mkv", "vp9.webm"])
def test_frames_are_those_of_the_cpu(gpu: int, name: str) -> None:
    reader = tricodec.FrameReader(media.generated(name), device=f"cuda:{gpu}")

    frames = list(reader)

    wanted = list(tricodec.FrameReader(media.generated(name), device="cpu"))
    assert reader.device == f"cuda:{gpu}"
    assert {frame.__dlpack_device__() for frame in frames} == {(2, gpu)}
    assert [frame.md5() for frame in frames] == [one.convert(frames[0].format).md5() for one in wanted]


@pytest.mark.needs_torch
@pytest.mark.parametrize("gpu", GPUS)
def test_pynvvideocodecs_gpu_id_is_taken(gpu: int) -> None:
    import torch

    decoder = nvc.SimpleDecoder(str(media.generated(CLIP)), gpu_id=gpu, use_device_memory=True)

    frames = [decoder[index] for index in range(5)]

    wanted = tricodec.FrameReader(media.generated(CLIP), device="cpu")
    for index, frame in enumerate(frames):
        tensor = torch.from_dlpack(frame)
        assert tensor.device == torch.device("cuda", gpu)
        assert tensor.cpu().numpy().tobytes() == bytes(wanted[index].convert("nv12").pack())
