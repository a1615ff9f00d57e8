# SPDX-License-Identifier: Apache-2.0
"""The module that the documented signatures call native: the same objects, reachable as ``nvc._PyNvVideoCodec``."""

from __future__ import annotations

from ._decoder import CreateDecoder, PyNvDecoder
from ._demuxer import CreateDemuxer, PyNvDemuxer
from ._encoder import PyNvEncoder, structEncodeReconfigureParams
from ._enums import (
    NV_ENC_MULTI_PASS,
    NV_ENC_PARAMS_RC_MODE,
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
from ._errors import PyNvVCException, PyNvVCExceptionUnsupported
from ._frame import DecodedFrame
from ._metadata import ScannedStreamMetadata, StreamMetadata
from ._packet import PacketData
from ._simple_decoder import CreateSimpleDecoder, SimpleDecoder
from ._threaded_decoder import ThreadedDecoder
from ._views import CAIMemoryView

BT_601, BT_709, UNSPEC = ColorSpace.BT_601, ColorSpace.BT_709, ColorSpace.UNSPEC
MPEG, JPEG, UDEF = ColorRange.MPEG, ColorRange.JPEG, ColorRange.UDEF

__all__ = [
    "BT_601",
    "BT_709",
    "JPEG",
    "MPEG",
    "NV_ENC_MULTI_PASS",
    "NV_ENC_PARAMS_RC_MODE",
    "UDEF",
    "UNSPEC",
    "CAIMemoryView",
    "ColorRange",
    "ColorSpace",
    "CreateDecoder",
    "CreateDemuxer",
    "CreateSimpleDecoder",
    "DecodedFrame",
    "DisplayDecodeLatencyType",
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
    "VideoPacketFlag",
    "cudaVideoChromaFormat",
    "cudaVideoCodec",
    "cudaVideoSurfaceFormat",
    "structEncodeReconfigureParams",
]

# Printed and pickled names say where programs find the classes, not which file of ours they are in.
for _name in __all__:
    _object = globals()[_name]
    if isinstance(_object, type) or callable(_object):
        _object.__module__ = __name__
del _name, _object
