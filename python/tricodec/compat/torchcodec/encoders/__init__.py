# SPDX-License-Identifier: Apache-2.0
"""torchcodec.encoders."""

from __future__ import annotations

from tricodec.compat.torchcodec.encoders._encoder import (
    AudioEncoder,
    AudioStream,
    Encoder,
    VideoEncoder,
    VideoStream,
)

__all__ = ["AudioEncoder", "AudioStream", "Encoder", "VideoEncoder", "VideoStream"]
