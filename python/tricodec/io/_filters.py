# SPDX-License-Identifier: Apache-2.0
"""Filter descriptions of the basic streams."""

from __future__ import annotations


def basic_audio_filters(sample_format: str | None, sample_rate: int | None, num_channels: int | None) -> str:
    """``aresample=SR,aformat=sample_fmts=F:channel_layouts=Nc``, without what is None."""
    filters = []
    if sample_rate is not None:
        filters.append(f"aresample={sample_rate}")
    wanted = []
    if sample_format is not None:
        wanted.append(f"sample_fmts={sample_format}")
    if num_channels is not None:
        wanted.append(f"channel_layouts={num_channels}c")
    if wanted:
        filters.append("aformat=" + ":".join(wanted))
    return ",".join(filters) or "anull"


def basic_video_filters(
    frame_rate: float | None, width: int | None, height: int | None, pixel_format: str | None
) -> str:
    """``fps=R,scale=width=W:height=H,format=pix_fmts=F``, without what is None."""
    filters = []
    if frame_rate is not None:
        filters.append(f"fps={frame_rate}")
    size = []
    if width is not None:
        size.append(f"width={width}")
    if height is not None:
        size.append(f"height={height}")
    if size:
        filters.append("scale=" + ":".join(size))
    if pixel_format is not None:
        filters.append(f"format=pix_fmts={pixel_format}")
    return ",".join(filters) or "null"
