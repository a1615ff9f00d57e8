# SPDX-License-Identifier: Apache-2.0
"""Frames of videos: `decode_video`, `read_many`, the classes of streams and frames, and facts about them."""

from tricodec._tricodec import (
    ColorDescription,
    DecodeIssue,
    Decoder,
    Demuxer,
    Frame,
    FrameReader,
    FusionReport,
    MediaInfo,
    Muxer,
    Packet,
    Plane,
    ReadStats,
    StreamInfo,
    SwscaleRgb,
    Transform,
    describe_stream,
    picture_bytes,
    picture_type,
    pixel_formats,
    probe,
    resolve_device,
    sei_messages,
)
from tricodec.video._decode import DecodedVideo, decode_video, read_many, read_video

__all__ = [
    "ColorDescription", "DecodeIssue", "DecodedVideo", "Decoder", "Demuxer", "Frame", "FrameReader", "FusionReport",
    "MediaInfo", "Muxer", "Packet", "Plane", "ReadStats", "StreamInfo", "SwscaleRgb", "Transform", "decode_video",
    "describe_stream", "picture_bytes", "picture_type", "pixel_formats", "probe", "read_many", "read_video",
    "resolve_device", "sei_messages",
]  # fmt: skip
