# SPDX-License-Identifier: Apache-2.0
"""torchcodec.decoders."""

from __future__ import annotations

from tricodec_compat.torchcodec._metadata import (
    AudioStreamHeaderMetadata,
    AudioStreamMetadata,
    ContainerMetadata,
    DemuxerMetadata,
    StreamMetadata,
    VideoStreamHeaderMetadata,
    VideoStreamMetadata,
)
from tricodec_compat.torchcodec.decoders._audio_decoder import AudioDecoder, WavDecoder
from tricodec_compat.torchcodec.decoders._cuda import (
    CpuFallbackStatus,
    get_nvdec_cache_capacity,
    set_cuda_backend,
    set_nvdec_cache_capacity,
)
from tricodec_compat.torchcodec.decoders._demuxer import Demuxer, VideoStream, get_container_metadata
from tricodec_compat.torchcodec.decoders._frame_index import FrameIndex
from tricodec_compat.torchcodec.decoders._images import (
    ImageReadMode,
    decode_avif,
    decode_gif,
    decode_heic,
    decode_image,
    decode_jpeg,
    decode_png,
    decode_webp,
)
from tricodec_compat.torchcodec.decoders._packet_decoder import ColorConverter, RawFrame, VideoPacketDecoder
from tricodec_compat.torchcodec.decoders._packets import Packet
from tricodec_compat.torchcodec.decoders._video_decoder import VideoDecoder

SimpleVideoDecoder = VideoDecoder

__all__ = [
    "AudioDecoder",
    "AudioStreamHeaderMetadata",
    "AudioStreamMetadata",
    "ColorConverter",
    "ContainerMetadata",
    "CpuFallbackStatus",
    "Demuxer",
    "DemuxerMetadata",
    "FrameIndex",
    "ImageReadMode",
    "Packet",
    "RawFrame",
    "SimpleVideoDecoder",
    "StreamMetadata",
    "VideoDecoder",
    "VideoPacketDecoder",
    "VideoStream",
    "VideoStreamHeaderMetadata",
    "VideoStreamMetadata",
    "WavDecoder",
    "decode_avif",
    "decode_gif",
    "decode_heic",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "get_container_metadata",
    "get_nvdec_cache_capacity",
    "set_cuda_backend",
    "set_nvdec_cache_capacity",
]
