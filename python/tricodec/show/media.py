# SPDX-License-Identifier: Apache-2.0
"""Descriptions of files and readers as tables."""

from __future__ import annotations

import html
from fractions import Fraction

from tricodec._tricodec import FrameReader, MediaInfo, StreamInfo
from tricodec.show import format_table

_HEADER = ["#", "kind", "codec", "profile", "picture or sound", "rate", "frames", "duration", "more"]


def describe(info: MediaInfo) -> str:
    """A heading and a table with a row for each stream, for people to read."""
    return f"{_heading(info)}\n" + format_table(_HEADER, [_row(each) for each in info.streams], indent="  ")


def html_of_info(info: MediaInfo) -> str:
    """The same for a notebook."""
    return f"<pre>{html.escape(describe(info))}</pre>"


def html_of_reader(reader: FrameReader) -> str:
    """The stream that a reader reads, and how it reads it, for a notebook."""
    if reader.closed:
        return f"<pre>{html.escape(repr(reader))}</pre>"
    heading = f"FrameReader of {reader.info.name}: {len(reader)} frames, by {reader.engine} on {reader.device}"
    if reader.num_damaged_packets:
        heading += f", {reader.num_damaged_packets} damaged packets so far"
    text = f"{heading}\n" + format_table(_HEADER, [_row(reader.stream)], indent="  ")
    return f"<pre>{html.escape(text)}</pre>"


def _heading(info: MediaInfo) -> str:
    facts = [info.format_name]
    if info.duration_seconds:
        facts.append(f"{info.duration_seconds:.3f} s")
    if info.start_seconds:
        facts.append(f"starts at {info.start_seconds:.3f} s")
    if info.size_bytes >= 0:
        facts.append(f"{info.size_bytes} bytes")
    if info.bit_rate:
        facts.append(f"{info.bit_rate / 1000:.0f} kbit/s")
    return f"{info.name}: {', '.join(facts)}"


def _row(stream: StreamInfo) -> list[object]:
    picture, rate, more = "", "", []
    if stream.kind == "video":
        picture = f"{stream.width}x{stream.height} {stream.pixel_format_name}"
        rate = _rate(stream.average_frame_rate or stream.real_frame_rate)
        color = stream.color
        more += [f"{name} {value}" for name, value in color.to_dict().items() if value != "unspecified"]
        if stream.rotation:
            more.append(f"turn {stream.rotation} degrees clockwise")
        if stream.mirrored:
            more.append("mirrored")
        if stream.sample_aspect_ratio not in (None, Fraction(1)):
            more.append(f"pixel aspect {stream.sample_aspect_ratio}")
        if stream.interlaced:
            more.append("interlaced")
        if stream.mastering_display:
            display = stream.mastering_display
            more.append(f"mastered at {display['min_luminance']:.4g} to {display['max_luminance']:.4g} cd/m2")
        if stream.content_light:
            more.append("MaxCLL {max_cll} MaxFALL {max_fall}".format(**stream.content_light))
        if stream.attached_picture:
            more.append("cover picture")
    elif stream.kind == "audio":
        picture = f"{stream.num_channels} channel" + ("s" if stream.num_channels != 1 else "")
        rate = f"{stream.sample_rate} Hz"
    if stream.language and stream.language != "und":
        more.append(stream.language)
    duration = f"{stream.duration_seconds:.3f} s" if stream.duration_seconds else ""
    frames = stream.num_frames or ""
    return [stream.index, stream.kind, stream.codec_name, stream.profile, picture, rate, frames, duration,
            ", ".join(more)]  # fmt: skip


def _rate(rate: Fraction | None) -> str:
    return f"{float(rate):.6g} fps" if rate else ""
