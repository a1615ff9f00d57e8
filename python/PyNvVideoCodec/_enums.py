# SPDX-License-Identifier: Apache-2.0
"""The enumerations of the documented API, with their integers and their printed forms."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any, cast


class _NativeEnum(IntEnum):
    """An integer enumeration that prints as ``Name.MEMBER`` and ``<Name.MEMBER: 3>`` on every Python version.

    ``IntEnum`` changed its ``str`` and ``format`` between Python 3.10 and 3.12; programs compare the printed forms.
    """

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value}>"

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec) if spec else str(self)


class cudaVideoCodec(_NativeEnum):
    """Codecs of packets. The last five are raw pictures, by their four-character code."""

    MPEG1 = 0
    MPEG2 = 1
    MPEG4 = 2
    VC1 = 3
    H264 = 4
    JPEG = 5
    H264_SVC = 6
    H264_MVC = 7
    HEVC = 8
    VP8 = 9
    VP9 = 10
    AV1 = 11
    YUV420 = 1230591318
    YV12 = 1498820914
    NV12 = 1314271538
    YUYV = 1498765654
    UYVY = 1431918169


class cudaVideoSurfaceFormat(_NativeEnum):
    """Layouts of a decoder's surfaces."""

    NV12 = 0
    P016 = 1
    YUV444 = 2
    YUV444_16Bit = 3
    NV16 = 4
    P216 = 5


cudaVideoChromaFormat: Any = cast(Any, _NativeEnum)(
    "cudaVideoChromaFormat", {"Monochrome": 0, "420": 1, "422": 2, "444": 3}
)
cudaVideoChromaFormat.__doc__ = """Chroma subsampling.

``getattr(nvc.cudaVideoChromaFormat, "420")`` gives a member with a name of digits.
"""


class Pixel_Format(_NativeEnum):
    """Layouts of decoded frames: see ``docs/migration/pynvvideocodec.md`` for shapes and strides."""

    NV12 = 3
    YUV444 = 4
    P016 = 5
    YUV444_16Bit = 6
    NV16 = 7
    P216 = 8
    RGB = 9
    RGBP = 10


class ColorSpace(_NativeEnum):
    """The color matrix that a stream states."""

    BT_601 = 0
    BT_709 = 1
    UNSPEC = 2


class ColorRange(_NativeEnum):
    """The color range that a stream states: MPEG is limited, JPEG is full, UDEF is none."""

    MPEG = 0
    JPEG = 1
    UDEF = 2


class OutputColorType(_NativeEnum):
    """Samples of decoded frames: those of the stream, or 8-bit RGB, interleaved (RGB) or in planes (RGBP)."""

    NATIVE = 0
    RGB = 1
    RGBP = 2


class DisplayDecodeLatencyType(_NativeEnum):
    """The number of frames that a decoder may hold back."""

    NATIVE = 0
    LOW = 1
    ZERO = 2


class VideoPacketFlag(_NativeEnum):
    """Hints in the ``decode_flag`` of a packet."""

    ENDOFSTREAM = 1
    TIMESTAMP = 2
    DISCONTINUITY = 4
    ENDOFPICTURE = 8
    NOTIFY_EOS = 16


class NV_ENC_PARAMS_RC_MODE(_NativeEnum):
    """Rate control of an encoder."""

    CONSTQP = 0
    VBR = 1
    CBR = 2


class NV_ENC_MULTI_PASS(_NativeEnum):
    """Whether an encoder analyzes each picture before it encodes it, and at which size."""

    DISABLED = 0
    QUARTER_RESOLUTION = 1
    FULL_RESOLUTION = 2


class NV_ENC_PIC_FLAGS(_NativeEnum):
    """Flags for the encoding of one picture. ``int(a) | int(b)`` combines them."""

    FORCEINTRA = 1
    FORCEIDR = 2
    OUTPUT_SPSPPS = 4
    EOS = 8
    DISABLE_ENC_STATE_ADVANCE = 16
    OUTPUT_RECON_FRAME = 32


class NV_ENC_PIC_TYPE(_NativeEnum):
    """Values of ``picture_type`` of a packet."""

    P = 0
    B = 1
    I = 2  # noqa: E741  (NVENC's own name)
    IDR = 3
    BI = 4
    SKIPPED = 5
    INTRA_REFRESH = 6
    NONREF_P = 7


class MEDIA_FORMAT(_NativeEnum):
    """Containers of FFmpegMuxer."""

    ELEMENTARY = 0
    MOV = 1
    MP4 = 2
    WEBM = 3


class SEI_TYPE(_NativeEnum):
    """Kinds of SEI messages."""

    TIME_CODE_H264 = 1
    USER_DATA_REGISTERED = 4
    USER_DATA_UNREGISTERED = 5
    TIME_CODE = 136
    MASTERING_DISPLAY_COLOR_VOLUME = 137
    CONTENT_LIGHT_LEVEL_INFO = 144
    ALTERNATIVE_TRANSFER_CHARACTERISTICS = 147


class Codec(Enum):
    """Codecs by their names in ``CreateEncoder``."""

    h264 = 4
    hevc = 8
    av1 = 11
