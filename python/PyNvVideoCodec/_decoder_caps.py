# SPDX-License-Identifier: Apache-2.0
"""GetDecoderCaps: what can be decoded here, by NVDEC's names."""

from __future__ import annotations

from typing import Any

import tricodec
from tricodec import _tricodec

from ._calls import expect_int, note_2
from ._enums import cudaVideoChromaFormat, cudaVideoCodec

#: Codecs by their names in the core.
CORE_NAMES = {
    cudaVideoCodec.MPEG1: "mpeg1video",
    cudaVideoCodec.MPEG2: "mpeg2video",
    cudaVideoCodec.MPEG4: "mpeg4",
    cudaVideoCodec.VC1: "vc1",
    cudaVideoCodec.H264: "h264",
    cudaVideoCodec.JPEG: "mjpeg",
    cudaVideoCodec.H264_SVC: "h264",  # the base layer
    cudaVideoCodec.H264_MVC: "h264",  # the base view
    cudaVideoCodec.HEVC: "hevc",
    cudaVideoCodec.VP8: "vp8",
    cudaVideoCodec.VP9: "vp9",
    cudaVideoCodec.AV1: "av1",
}

# What libavcodec decodes to a documented layout; codecs that are not here are 4:2:0 of 8 bits.
_ALL = ("Monochrome", "420", "422", "444")
_CHROMA = {"mpeg2video": _ALL[1:3], "vp9": _ALL[1:], **dict.fromkeys(("h264", "hevc", "mjpeg", "av1"), _ALL)}
_DEPTHS = {"h264": (8, 10), **dict.fromkeys(("hevc", "vp9", "av1"), (8, 10, 12))}
_NAMES = {"Monochrome": "gray", "420": "yuv420p", "422": "yuv422p", "444": "yuv444p"}


def GetDecoderCaps(
    gpuid: int = 0,
    codec: cudaVideoCodec = cudaVideoCodec.H264,
    chromaformat: Any = cudaVideoChromaFormat["420"],
    bitdepth: int = 8,
) -> dict[str, int]:
    """The abilities of the decoder that `CreateDecoder` chooses for a stream: NVDEC's if it decodes it, else the CPU's.

    Args:
        gpuid: number of the GPU; without a GPU it has no effect.
        codec: the codec.
        chromaformat: chroma subsampling, a ``cudaVideoChromaFormat``.
        bitdepth: significant bits of a sample.

    Returns:
        ``supported`` (1 or 0), ``num_decoder_engines`` (0 if the CPU decodes), the sizes ``width_min``, ``height_min``,
        ``width_max``, ``height_max`` in pixels, ``mb_num_max`` in blocks of 16x16, and the arguments: ``codec_id``,
        ``chromaformat_id``, ``bitdepth``. The sizes are 0 if no engine decodes such a stream.

    Raises:
        TypeError: ``codec`` or ``chromaformat`` is not a member of its enumeration.
        tricodec.DeviceError: there is no such GPU.
    """
    note_2()
    for name, value, kind in (("codec", codec, cudaVideoCodec), ("chromaformat", chromaformat, cudaVideoChromaFormat)):
        if not isinstance(value, kind):
            message = f"{name} must be a {kind.__name__}, not {value!r}"
            raise TypeError(message)
    depth, gpu = expect_int("bitdepth", bitdepth), expect_int("gpuid", gpuid)
    asked = {"codec_id": int(codec), "chromaformat_id": int(chromaformat), "bitdepth": depth}
    name, chroma = CORE_NAMES.get(codec, ""), chromaformat.name
    on_cpu = bool(name) and chroma in _CHROMA.get(name, ("420",)) and depth in _DEPTHS.get(name, (8,))
    if name and depth in (8, 10, 12) and tricodec.video.resolve_device("auto") != "cpu":
        suffix = "" if depth == 8 else f"{depth}le"
        caps = _tricodec.hardware_caps(name, _NAMES[chroma] + suffix, gpu)
        if caps["supported"]:
            return asked | caps
    limits = tricodec.get_limits()
    width, height = (limits.max_width, limits.max_height) if on_cpu else (0, 0)
    return asked | {
        "supported": int(on_cpu), "num_decoder_engines": 0, "width_max": width, "height_max": height,
        "mb_num_max": width * height // 256, "width_min": int(on_cpu), "height_min": int(on_cpu),
    }  # fmt: skip
