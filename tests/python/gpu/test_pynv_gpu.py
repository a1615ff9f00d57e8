# SPDX-License-Identifier: Apache-2.0
"""The drop-in PyNvVideoCodec on a GPU: frames in device memory, contexts and streams of the program's (C24 to C51)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
from gpu_helpers import pycuda_over_ctypes as pycuda

CLIPS = ["h264_bframes.mp4", "hevc10.mkv", "hevc_444_12.mkv", "vp9_odd.webm", "mpeg2.ts", "av1.mp4", "h264_422.mp4"]


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    """The primary context is current, as a program of pycuda's has it; decoding leaves it so."""
    driver = pycuda.Driver()
    driver.init()
    primary = driver.Device(0).retain_primary_context()
    primary.push()
    yield
    current = ctypes.c_void_p()
    pycuda.call("cuCtxGetCurrent", ctypes.byref(current))
    primary.pop()
    assert current.value == primary.handle


def decode(name: str, **arguments: Any) -> list[nvc.DecodedFrame]:
    demuxer = nvc.CreateDemuxer(str(media.generated(name)))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), **arguments)
    return [frame for packet in demuxer for frame in decoder.Decode(packet)]


def to_host(frame: nvc.DecodedFrame) -> bytes:
    host = np.empty(frame.framesize(), np.uint8)
    pycuda.Driver().memcpy_dtoh(host, frame.GetPtrToPlane(0))
    return host.tobytes()


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    def frames(name: str, **arguments: Any) -> list[bytes]:
        with monkeypatch.context() as patched:
            patched.setenv("TRICODEC_DEVICE", "cpu")
            return [bytes(frame) for frame in decode(name, **arguments)]

    return frames


def messages_in(packet: nvc.PacketData, codec: str) -> list[tuple[int, bytes]]:
    return tricodec.video.sei_messages(ctypes.string_at(packet.bsl_data, packet.bsl), codec)


@pytest.mark.parametrize("color", ["NATIVE", "RGB", "RGBP"])
@pytest.mark.parametrize("name", CLIPS)
def test_c25_c32_c33_device_frames_and_host_frames_are_those_of_the_cpu(name: str, color: str, on_cpu: Any) -> None:
    kind = nvc.OutputColorType[color]

    frames = decode(name, usedevicememory=True, outputColorType=kind)

    assert [to_host(frame) for frame in frames] == on_cpu(name, outputColorType=kind)
    assert {frame.__dlpack_device__() for frame in frames} == {(2, 0)}

    frames = decode(name, usedevicememory=False, outputColorType=kind)
    assert [bytes(frame) for frame in frames] == on_cpu(name, outputColorType=kind)
    first = frames[0]
    assert ctypes.string_at(first.GetPtrToPlane(0), first.framesize()) == bytes(first)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CLIPS)
def test_c49_c50_torch_shares_a_device_frame(name: str) -> None:
    import torch

    frame = decode(name, usedevicememory=True)[2]
    tensor = torch.from_dlpack(frame)

    assert tensor.device.type == "cuda"
    assert tensor.data_ptr() == frame.GetPtrToPlane(0)
    assert tuple(tensor.shape) == frame.shape
    assert tensor.cpu().numpy().tobytes() == to_host(frame)


@pytest.mark.needs_cupy
def test_c44_views_are_cuda_arrays_of_the_planes() -> None:
    import cupy

    frame = decode("h264_bframes.mp4", usedevicememory=True)[2]
    luma, chroma = (cupy.asarray(view) for view in frame.cuda())

    assert (luma.shape, chroma.shape) == ((180, 320, 1), (90, 160, 2))
    assert luma.data.ptr == frame.GetPtrToPlane(0)
    assert chroma.data.ptr == frame.GetPtrToPlane(1)
    assert luma.get().tobytes() + chroma.get().tobytes() == to_host(frame)
    assert all(view.__cuda_array_interface__["stream"] == 1 for view in frame.cuda())


@pytest.mark.parametrize("own", [False, True], ids=["primary", "own context"])
def test_c34_c36_a_programs_context_and_stream_are_honored(own: bool, on_cpu: Any) -> None:
    driver = pycuda.Driver()
    context = driver.Device(0).make_context() if own else driver.Device(0).retain_primary_context()
    if not own:
        context.push()
    stream = driver.Stream()
    copied = []
    demuxer = nvc.CreateDemuxer(str(media.generated("h264_bframes.mp4")))
    decoder = nvc.CreateDecoder(
        codec=demuxer.GetNvCodecId(), cudacontext=context.handle, cudastream=stream.handle, usedevicememory=True
    )
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            host = driver.pagelocked_empty(frame.framesize(), np.uint8)
            driver.memcpy_dtoh_async(host, frame.GetPtrToPlane(0), stream)
            copied.append(host.tobytes())
            assert frame.cuda()[0].__cuda_array_interface__["stream"] == stream.handle
    del frame, decoder
    context.pop()

    assert copied == on_cpu("h264_bframes.mp4")
    if own:
        context.detach()  # it is the program's: nothing of ours may be left to break


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc.mp4"])
def test_sei_messages_come_with_their_pictures(name: str) -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated(name)))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=True, enableSEIMessage=True)
    codec = "h264" if name.startswith("h264") else "hevc"
    packets = list(demuxer)
    wanted = [message for packet in packets if packet.bsl for message in messages_in(packet, codec)]

    frames = [frame for packet in packets for frame in decoder.Decode(packet)]

    found = [(facts["sei_type"], bytes(data)) for frame in frames for facts, data in frame.getSEIMessage()]
    assert sorted(found) == sorted(wanted)
    assert wanted


def test_frame_in_device_memory_turns_to_rgb_as_the_decoder_would_turn_it() -> None:
    frames = decode("bt709.mp4", usedevicememory=True)[:5]
    expected = decode("bt709.mp4", usedevicememory=True, outputColorType=nvc.OutputColorType.RGBP)[:5]

    turned = [frame.nv12_to_rgb() for frame in frames]

    assert all(frame.__dlpack_device__() == (2, 0) for frame in turned)
    assert list(map(to_host, turned)) == list(map(to_host, expected))
