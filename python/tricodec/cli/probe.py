# SPDX-License-Identifier: Apache-2.0
"""`tricodec probe`: the streams of a file."""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from typing import Any

import tricodec
from tricodec.cli.shared import format_table, to_source


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "probe", parents=[common], help="describe a file's streams", description="Describe a file's streams."
    )
    parser.add_argument(
        "file", metavar="FILE", help="a media file, or a URL (s3, gs, az, https, hf) that tricodec.remote() takes"
    )
    parser.add_argument("--json", action="store_true", help="print all facts as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the description."""
    info = tricodec.probe(to_source(options.file))
    print(json.dumps(info.to_dict(), indent=2) if options.json else describe(info))
    return 0


def describe(info: tricodec.MediaInfo) -> str:
    """A heading and a table with a row for each stream, for people to read."""
    facts = [info.format_name]
    if info.duration_seconds:
        facts.append(f"{info.duration_seconds:.3f} s")
    if info.start_seconds:
        facts.append(f"starts at {info.start_seconds:.3f} s")
    if info.size_bytes >= 0:
        facts.append(f"{info.size_bytes} bytes")
    if info.bit_rate:
        facts.append(f"{info.bit_rate / 1000:.0f} kbit/s")
    header = ["#", "kind", "codec", "profile", "picture or sound", "rate", "frames", "duration", "more"]
    return f"{info.name}: {', '.join(facts)}\n" + format_table(header, [_row(s) for s in info.streams], indent="  ")


def _row(stream: tricodec.StreamInfo) -> list[object]:
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
