# SPDX-License-Identifier: Apache-2.0
"""What the tests of the drop-in PyNvVideoCodec share."""

from __future__ import annotations

from pathlib import Path

import PyNvVideoCodec as nvc


def decode_all(path: Path | str, **options: object) -> list[nvc.DecodedFrame]:
    """The documented loop."""
    demuxer = nvc.CreateDemuxer(str(path))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), **options)  # type: ignore[arg-type]
    return [frame for packet in demuxer for frame in decoder.Decode(packet)]
