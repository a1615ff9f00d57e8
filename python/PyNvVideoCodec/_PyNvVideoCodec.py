# SPDX-License-Identifier: Apache-2.0
"""The module that the documented signatures call native: the same objects, reachable as ``nvc._PyNvVideoCodec``."""

from __future__ import annotations

from ._bitstream import patch_ivf_frame_count
from ._calls import PyNvVCException, PyNvVCExceptionUnsupported
from ._decoder import CreateDecoder, PyNvDecoder
from ._decoder_caps import GetDecoderCaps
from ._demuxer import CreateDemuxer, PyNvDemuxer
from ._encoder import NV_ENC_PIC_PARAMS, PyNvEncoder
from ._encoder_options import GetEncoderCaps, structEncodeReconfigureParams
from ._enums import (
    MEDIA_FORMAT,
    NV_ENC_MULTI_PASS,
    NV_ENC_PARAMS_RC_MODE,
    NV_ENC_PIC_FLAGS,
    SEI_TYPE,
    ColorRange,
    ColorSpace,
    DisplayDecodeLatencyType,
    OutputColorType,
    Pixel_Format,
    VideoPacketFlag,
    cudaVideoChromaFormat,
    cudaVideoCodec,
    cudaVideoSurfaceFormat,
)
from ._file_decoders import CreateSimpleDecoder, CreateThreadedDecoder, SimpleDecoder, ThreadedDecoder
from ._frame import DecodedFrame
from ._muxer import CreateTranscoder, FFmpegMuxer, GetMediaFormat, Transcoder
from ._packet import PacketData
from ._video_file import ScannedStreamMetadata, StreamMetadata
from ._views import CAIMemoryView

BT_601, BT_709, UNSPEC = ColorSpace
FORCEINTRA, FORCEIDR, OUTPUT_SPSPPS, EOS, DISABLE_ENC_STATE_ADVANCE, OUTPUT_RECON_FRAME = NV_ENC_PIC_FLAGS
ELEMENTARY, MOV, MP4, WEBM = MEDIA_FORMAT
MPEG, JPEG, UDEF = ColorRange
NVENC_VER_12, NVENC_VER_13 = 193, 208  # 16 * major + minor

__all__ = [
    "BT_601", "BT_709", "DISABLE_ENC_STATE_ADVANCE", "ELEMENTARY", "EOS", "FORCEIDR", "FORCEINTRA", "JPEG",
    "MEDIA_FORMAT", "MOV", "MP4", "MPEG", "NVENC_VER_12", "NVENC_VER_13", "NV_ENC_MULTI_PASS", "NV_ENC_PARAMS_RC_MODE",
    "NV_ENC_PIC_FLAGS", "NV_ENC_PIC_PARAMS", "OUTPUT_RECON_FRAME", "OUTPUT_SPSPPS", "SEI_TYPE", "UDEF", "UNSPEC",
    "WEBM", "CAIMemoryView", "ColorRange", "ColorSpace", "CreateDecoder", "CreateDemuxer", "CreateSimpleDecoder",
    "CreateThreadedDecoder", "CreateTranscoder", "DecodedFrame", "DisplayDecodeLatencyType", "FFmpegMuxer",
    "GetDecoderCaps", "GetEncoderCaps", "GetMediaFormat", "OutputColorType", "PacketData", "Pixel_Format",
    "PyNvDecoder", "PyNvDemuxer", "PyNvEncoder", "PyNvVCException", "PyNvVCExceptionUnsupported",
    "ScannedStreamMetadata", "SimpleDecoder", "StreamMetadata", "ThreadedDecoder", "Transcoder", "VideoPacketFlag",
    "cudaVideoChromaFormat", "cudaVideoCodec", "cudaVideoSurfaceFormat", "patch_ivf_frame_count",
    "structEncodeReconfigureParams",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


# Printed and pickled names use the module in which programs find the classes, not the file that defines them.
for _name in __all__:
    _object = globals()[_name]
    if isinstance(_object, type) or callable(_object):
        _object.__module__ = __name__
del _name, _object
