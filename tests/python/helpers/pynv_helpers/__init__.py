# SPDX-License-Identifier: Apache-2.0
"""What the tests of the drop-in PyNvVideoCodec share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import media
import numpy.typing as npt
import PyNvVideoCodec as nvc

Array = npt.NDArray[Any]
WIDTH, HEIGHT = 192, 128
SUFFIX = {"h264": ".h264", "hevc": ".hevc", "av1": ".ivf"}


def decode_all(path: Path | str, **options: object) -> list[nvc.DecodedFrame]:
    """The documented loop."""
    demuxer = nvc.CreateDemuxer(str(path))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), **options)  # type: ignore[arg-type]
    return [frame for packet in demuxer for frame in decoder.Decode(packet)]


def packets_of(name: str) -> list[nvc.PacketData]:
    """All packets of a generated clip, and the empty one behind them."""
    return list(nvc.CreateDemuxer(str(media.generated(name))))


def decode_packets(decoder: nvc.PyNvDecoder, packets: list[nvc.PacketData]) -> list[nvc.DecodedFrame]:
    return [frame for packet in packets for frame in decoder.Decode(packet)]


def encode(frames: Array, path: Path, fmt: str = "NV12", **options: Any) -> Path:
    """All frames to a file, as the document's example does it."""
    options = {"preset": "P1", **options}
    height = frames.shape[1] * 2 // 3 if fmt in ("NV12", "P010") else HEIGHT
    encoder = nvc.CreateEncoder(frames.shape[2] if frames.ndim > 2 else WIDTH, height, fmt, True, **options)
    out = path / ("out" + SUFFIX[options.get("codec", "h264")])
    with out.open("wb") as file:
        for frame in frames:
            file.write(bytearray(encoder.Encode(frame.reshape(-1))))
        file.write(bytearray(encoder.EndEncode()))
    return out
