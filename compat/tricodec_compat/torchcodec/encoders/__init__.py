# SPDX-License-Identifier: Apache-2.0
"""torchcodec.encoders."""

from __future__ import annotations

from tricodec_compat.torchcodec.encoders._batch_encoders import AudioEncoder, VideoEncoder
from tricodec_compat.torchcodec.encoders._encoder import AudioStream, Encoder, VideoStream
from tricodec_compat.torchcodec.encoders._images import JpegEncoder, PngEncoder

__all__ = ["AudioEncoder", "AudioStream", "Encoder", "JpegEncoder", "PngEncoder", "VideoEncoder", "VideoStream"]
