# SPDX-License-Identifier: Apache-2.0
"""The decode examples of the documented API, word for word; only line breaks and indents, which print lost, are ours.

Names that the document uses without saying where they come from are filled in by :class:`Names`, each in the way that
its text means: ``nv_dec`` is the decoder, ``GetNvCodecId`` the demuxer's method, ``luma_base_addr`` the current frame's
first plane.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt


def cast_address_to_1d_bytearray(base_address: int, size: int) -> npt.NDArray[np.uint8]:
    """Bytes at an address as an array (the document: "refer to Utils class for this implementation")."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(base_address))


class Names(dict[str, Any]):
    """A namespace for ``exec`` that knows what the document leaves out."""

    def __missing__(self, name: str) -> Any:
        if name == "nv_dec":
            return self["decoder"]
        if name == "GetNvCodecId":
            return self["demuxer"].GetNvCodecId
        if name == "luma_base_addr":
            return self["decoded_frame"].GetPtrToPlane(0)
        raise KeyError(name)


READ_BY_ADDRESS = """
import PyNvVideoCodec as nvc
demuxer = nvc.CreateDemuxer( filename=enc_file_path)
decoder = nvc.CreateDecoder(gpuid=0, codec=GetNvCodecId(), cudacontext=0, cudastream=0, usedevicememory=True)
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        new_array = cast_address_to_1d_bytearray( base_address=luma_base_addr, size=decoded_frame.framesize())
        #refer to Utils class for this implementation
        process_array(new_array)
"""

COPY_FROM_HOST = """
import PyNvVideoCodec as nvc
import pycuda.driver as cuda
demuxer = nvc.CreateDemuxer( filename=enc_file_path)
decoder = nvc.CreateDecoder( gpuid=0, codec=GetNvCodecId(), cudacontext=0, cudastream=0, usedevicememory=False)
seq_triggered = False
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        if not seq_triggered:
            decoded_frame_size = nv_dec.GetFrameSize()
            raw_frame = np.ndarray( shape=decoded_frame_size, dtype=np.uint8)
            seq_triggered = True
        cuda.memcpy_dtoh( raw_frame, luma_base_addr)
"""

EXTERNAL_CONTEXT = """
import PyNvVideoCodec as nvc
import pycuda.driver as cuda
cuda.init()
cuda_device = cuda.Device(0)
cuda_ctx = cuda_device.retain_primary_context()
cuda_ctx.push()
cuda_stream_decoder = cuda.Stream()
seq_triggered = False
demuxer = nvc.CreateDemuxer( filename=enc_file_path)
decoder = nvc.CreateDecoder( gpuid=0,codec=nvc.cudaVideoCodec.H264, cudacontext=cuda_ctx.handle,
    cudastream=cuda_stream_decoder.handle, usedevicememory=True)
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        if not seq_triggered:
            decoded_frame_size = nv_dec.GetFrameSize()
            raw_frame = np.ndarray( shape=decoded_frame_size, dtype=np.uint8)
            seq_triggered = True
        cuda.memcpy_dtoh( raw_frame, luma_base_addr)
"""

ASYNC_ALLOCATIONS = """
import PyNvVideoCodec as nvc
import pycuda.driver as cuda
cuda.init()
cuda_device = cuda.Device(0)
cuda_ctx = cuda_device.retain_primary_context()
cuda_ctx.push()
cuda_stream_decoder = cuda.Stream()
cuda_stream_app = cuda.Stream()
decoder = nvc.CreateDecoder( gpuid=0, codec=nvc.cudaVideoCodec.H264, cudacontext=cuda_ctx.handle,
    cudastream=cuda_stream_decoder.handle, usedevicememory=True, enableasyncallocations=True)
raw_frame = None
seq_triggered = False
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        if not seq_triggered:
            decoded_frame_size = decoder.GetFrameSize()
            raw_frame = cuda.pagelocked_empty( shape=decoded_frame_size, dtype=np.uint8, order='C', mem_flags=0)
            # for stream aware allocations, we need to create page locked host
            # memory
            seq_triggered = True
        luma_base_addr = decoded_frame.GetPtrToPlane(0)
        decoder.WaitOnCUStream(cuda_stream_app.handle)
        cuda.memcpy_dtoh_async( raw_frame, luma_base_addr, cuda_stream_app)
        cuda_stream_app.synchronize()
"""

INTEROPERABILITY = """
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        src_tensor = torch.from_dlpack(decoded_frame)
        process_tensor(src_tensor)
"""

PRINTED_FRAME = (
    "<DecodedFrame [timestamp=0, format=Pixel_Format.NV12, "
    "[<CAIMemoryView [1080, 1920, 1]>, <CAIMemoryView [540, 960, 2]>]]>"
)
