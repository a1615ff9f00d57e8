# SPDX-License-Identifier: Apache-2.0
"""The documented names of PyNvVideoCodec 1.0 over tricodec: ``import PyNvVideoCodec as nvc``.

Programs written for the original demux and decode here unchanged, with or without a GPU::

    import PyNvVideoCodec as nvc

    demuxer = nvc.CreateDemuxer("video.mp4")
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            ...

``docs/pynvvideocodec.md`` says what is covered and what differs. This package holds none of the original's code.
"""

from __future__ import annotations

from . import _PyNvVideoCodec
from ._encoder import CreateEncoder
from ._enums import Codec
from ._log import logger
from ._options import format_optional_params, tostring
from ._PyNvVideoCodec import (
    BT_601,
    BT_709,
    DISABLE_ENC_STATE_ADVANCE,
    ELEMENTARY,
    EOS,
    FORCEIDR,
    FORCEINTRA,
    JPEG,
    MEDIA_FORMAT,
    MOV,
    MP4,
    MPEG,
    NV_ENC_MULTI_PASS,
    NV_ENC_PARAMS_RC_MODE,
    NV_ENC_PIC_FLAGS,
    NV_ENC_PIC_PARAMS,
    OUTPUT_RECON_FRAME,
    OUTPUT_SPSPPS,
    SEI_TYPE,
    UDEF,
    UNSPEC,
    WEBM,
    CAIMemoryView,
    ColorRange,
    ColorSpace,
    CreateDecoder,
    CreateDemuxer,
    CreateSimpleDecoder,
    DecodedFrame,
    DisplayDecodeLatencyType,
    FFmpegMuxer,
    GetEncoderCaps,
    GetMediaFormat,
    OutputColorType,
    PacketData,
    Pixel_Format,
    PyNvDecoder,
    PyNvDemuxer,
    PyNvEncoder,
    PyNvVCException,
    PyNvVCExceptionUnsupported,
    ScannedStreamMetadata,
    SimpleDecoder,
    StreamMetadata,
    ThreadedDecoder,
    Transcoder,
    VideoPacketFlag,
    cudaVideoChromaFormat,
    cudaVideoCodec,
    cudaVideoSurfaceFormat,
    patch_ivf_frame_count,
    structEncodeReconfigureParams,
)

#: The release of the original whose contract this package keeps; tricodec's own version is ``tricodec.__version__``.
__version__ = "1.0.2"
__author__ = __maintainer__ = __credits__ = "the tricodec authors"
__license__ = "Apache-2.0"
__copyright__ = "the tricodec authors"
__email__ = ""
__status__ = "Alpha"

__all__ = [
    "BT_601",
    "BT_709",
    "DISABLE_ENC_STATE_ADVANCE",
    "ELEMENTARY",
    "EOS",
    "FORCEIDR",
    "FORCEINTRA",
    "JPEG",
    "MEDIA_FORMAT",
    "MOV",
    "MP4",
    "MPEG",
    "NV_ENC_MULTI_PASS",
    "NV_ENC_PARAMS_RC_MODE",
    "NV_ENC_PIC_FLAGS",
    "NV_ENC_PIC_PARAMS",
    "OUTPUT_RECON_FRAME",
    "OUTPUT_SPSPPS",
    "SEI_TYPE",
    "UDEF",
    "UNSPEC",
    "WEBM",
    "CAIMemoryView",
    "Codec",
    "ColorRange",
    "ColorSpace",
    "CreateDecoder",
    "CreateDemuxer",
    "CreateEncoder",
    "CreateSimpleDecoder",
    "DecodedFrame",
    "DisplayDecodeLatencyType",
    "FFmpegMuxer",
    "GetEncoderCaps",
    "GetMediaFormat",
    "OutputColorType",
    "PacketData",
    "Pixel_Format",
    "PyNvDecoder",
    "PyNvDemuxer",
    "PyNvEncoder",
    "PyNvVCException",
    "PyNvVCExceptionUnsupported",
    "ScannedStreamMetadata",
    "SimpleDecoder",
    "StreamMetadata",
    "ThreadedDecoder",
    "Transcoder",
    "VideoPacketFlag",
    "_PyNvVideoCodec",
    "cudaVideoChromaFormat",
    "cudaVideoCodec",
    "cudaVideoSurfaceFormat",
    "format_optional_params",
    "logger",
    "patch_ivf_frame_count",
    "structEncodeReconfigureParams",
    "tostring",
]
