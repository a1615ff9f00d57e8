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
    """Codecs that packets may hold. The last five name raw pictures by their four-character code."""

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

Members named by digits are reached by ``getattr(nvc.cudaVideoChromaFormat, "420")``.
"""


class Pixel_Format(_NativeEnum):
    """Layouts of decoded frames: see ``docs/pynvvideocodec.md`` for shapes and strides."""

    NV12 = 3
    YUV444 = 4
    P016 = 5
    YUV444_16Bit = 6
    NV16 = 7
    P216 = 8
    RGB = 9
    RGBP = 10


class ColorSpace(_NativeEnum):
    """The matrix that a stream names."""

    BT_601 = 0
    BT_709 = 1
    UNSPEC = 2


class ColorRange(_NativeEnum):
    """MPEG is the limited range, JPEG the full one, UDEF neither is named."""

    MPEG = 0
    JPEG = 1
    UDEF = 2


class OutputColorType(_NativeEnum):
    """What a decoder delivers: the stream's own samples, or 8-bit RGB interleaved (RGB) or in planes (RGBP)."""

    NATIVE = 0
    RGB = 1
    RGBP = 2


class DisplayDecodeLatencyType(_NativeEnum):
    """How many frames a decoder may hold back."""

    NATIVE = 0
    LOW = 1
    ZERO = 2


class VideoPacketFlag(_NativeEnum):
    """Hints that a packet's ``decode_flag`` may carry."""

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
    """Whether an encoder looks at each picture twice, and at what size the first time."""

    DISABLED = 0
    QUARTER_RESOLUTION = 1
    FULL_RESOLUTION = 2


class NV_ENC_PIC_FLAGS(_NativeEnum):
    """How one picture is encoded. Members are joined by ``int(a) | int(b)``."""

    FORCEINTRA = 1
    FORCEIDR = 2
    OUTPUT_SPSPPS = 4
    EOS = 8
    DISABLE_ENC_STATE_ADVANCE = 16
    OUTPUT_RECON_FRAME = 32


class NV_ENC_PIC_TYPE(_NativeEnum):
    """What ``picture_type`` of a packet means."""

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
    """Codecs by the names that ``CreateEncoder`` takes."""

    h264 = 4
    hevc = 8
    av1 = 11
