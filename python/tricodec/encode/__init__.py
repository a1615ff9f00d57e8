# SPDX-License-Identifier: Apache-2.0
"""Encoding: `encode_video`, `encode_audio`, `transcode`, and the parameters of NVIDIA's encoder API on every engine.

``Settings.of(...)`` reads the parameters of Table 1 of PyNvVideoCodec's document (``bitrate``, ``rc``, ``bf``, ...).
``TABLE`` lists for each of them the options of libx264, libx265, libsvtav1 and NVENC, or the reason why there is none.
``build`` applies the table, and ``tricodec encode --explain`` prints it.
"""

from tricodec._tricodec import AudioEncoder, encoder_for, encoder_names
from tricodec.encode.audio import encode_audio, write_audio
from tricodec.encode.plan import Plan, build, differences, explain
from tricodec.encode.sample import sample_video
from tricodec.encode.settings import CPU_ENCODERS, NVENC_ENCODERS, Settings
from tricodec.encode.table import TABLE, Refused, Row
from tricodec.encode.transcoding import TranscodeResult, transcode
from tricodec.encode.video import encode_video

__all__ = [
    "CPU_ENCODERS", "NVENC_ENCODERS", "TABLE", "AudioEncoder", "Plan", "Refused", "Row", "Settings", "TranscodeResult",
    "build", "differences", "encode_audio", "encode_video", "encoder_for", "encoder_names", "explain", "sample_video",
    "transcode", "write_audio",
]  # fmt: skip
