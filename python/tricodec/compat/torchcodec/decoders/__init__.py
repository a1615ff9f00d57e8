# SPDX-License-Identifier: Apache-2.0
"""torchcodec.decoders."""

from __future__ import annotations

from tricodec.compat.torchcodec._metadata import (
    AudioStreamHeaderMetadata,
    AudioStreamMetadata,
    StreamMetadata,
    VideoStreamHeaderMetadata,
    VideoStreamMetadata,
)
from tricodec.compat.torchcodec.decoders._audio_decoder import AudioDecoder, WavDecoder
from tricodec.compat.torchcodec.decoders._cuda import (
    CpuFallbackStatus,
    get_nvdec_cache_capacity,
    set_cuda_backend,
    set_nvdec_cache_capacity,
)
from tricodec.compat.torchcodec.decoders._video_decoder import VideoDecoder

SimpleVideoDecoder = VideoDecoder

__all__ = [
    "AudioDecoder",
    "AudioStreamHeaderMetadata",
    "AudioStreamMetadata",
    "CpuFallbackStatus",
    "SimpleVideoDecoder",
    "StreamMetadata",
    "VideoDecoder",
    "VideoStreamHeaderMetadata",
    "VideoStreamMetadata",
    "WavDecoder",
    "get_nvdec_cache_capacity",
    "set_cuda_backend",
    "set_nvdec_cache_capacity",
]
