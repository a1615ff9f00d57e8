# SPDX-License-Identifier: Apache-2.0
"""`tricodec encode`: raw pictures or a video to an encoded file, by the parameters of NVIDIA's encoder API."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

import tricodec
from tricodec import encode
from tricodec.cli.output_files import refuse_existing
from tricodec.cli.shared import (
    SIZE,
    STDIO,
    add_force,
    counted,
    nearest,
    pairs_of,
    parse_size,
    print_facts,
    refuse_own_source,
    report,
    say,
    warn_of_damage,
)
from tricodec.encode.settings import PARAMETERS
from tricodec.show.progress import Progress
from tricodec.show.tables import format_table

#: Names of raw pictures, and their layout unless --format names it. ffmpeg too writes .yuv as planes.
_RAW = {".yuv": "yuv420p", ".raw": "yuv420p", ".nv12": "nv12", ".rgb": "rgb24"}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "encode",
        parents=[common],
        help="encode raw pictures or a video",
        description="Encode raw pictures (.yuv, .rgb, - for standard input) or a video, with the parameters of "
        "PyNvVideoCodec's Table 1: -p bitrate=4M -p bf=3.",
    )
    parser.add_argument("input", metavar="INPUT", nargs="?", help="raw pictures, or any video")
    parser.add_argument("last", metavar="OUTPUT", nargs="?", help="the same as -o")
    parser.add_argument("-o", "--output", metavar="OUTPUT", help=".mp4, .mkv, .ivf, .h264, ...")
    parser.add_argument("--size", type=parse_size, metavar=SIZE, help="width and height of raw pictures")
    parser.add_argument(
        "--format",
        help="layout of raw pictures: yuv420p (default; of .nv12 nv12, of .rgb rgb24), nv12, rgb24, ABGR, ...",
    )
    parser.add_argument(
        "-p", "--parameter", action="append", default=[], metavar="NAME=VALUE", help="codec, preset, rc, bitrate, ..."
    )
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda, cuda:N")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print the options of each engine for these parameters, and encode nothing",
    )
    add_force(parser)
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Encodes, or explains."""
    parameters: dict[str, object] = dict(pairs_of("-p", options.parameter))
    height, width = options.size or (1080, 1920)
    if options.explain:
        return _explain(parameters, width, height, options)
    if options.last and options.output:
        options.parser.error(f"both {options.last} and -o {options.output} name the output; leave one out")
    options.output = options.output or options.last
    if not options.input or not options.output:
        message = "encode needs INPUT and OUTPUT (or --explain)"
        raise ValueError(message)
    if options.output == STDIO:
        raise ValueError("encode writes files; `tricodec transcode -o -` writes to standard output")
    if options.input != STDIO:
        refuse_own_source(options.input, options.output)
    refuse_existing(options.output, options.force)
    suffix = PurePath(options.input).suffix.lower()
    is_raw = options.input == STDIO or suffix in _RAW or bool(options.format)
    if not is_raw and options.size:
        raise ValueError(
            f"--size is of raw pictures, and '{options.input}' is a video; `tricodec transcode --size` resizes, and "
            "--format says that a file has raw pictures"
        )
    if is_raw and not options.size:
        raise ValueError("raw pictures do not say their size; pass --size WIDTHxHEIGHT, such as --size 1280x720")
    if options.size and min(options.size) < 0:
        raise ValueError("raw pictures do not say their shape; --size needs both numbers, such as --size 1280x720")
    reader = None if options.size else tricodec.FrameReader(options.input, device="cpu")
    pictures, width, height, rate = _open(options, reader)
    if rate is not None:
        parameters.setdefault("fps", str(rate))
    settings, unknown = encode.Settings.of(parameters, width, height)
    if unknown:
        near = nearest(unknown[0], PARAMETERS) or "; `tricodec encode --explain` lists the known ones"
        message = f"unknown parameters: {', '.join(unknown)}{near}"
        raise ValueError(message)
    plan = encode.build(settings, tricodec.encode.encoder_for(settings.codec, options.device))
    for names, reason in plan.notes.items():
        print(f"tricodec: {names}: {reason}", file=sys.stderr)
    count = 0
    with tricodec.Muxer(options.output) as muxer, Progress("encode") as progress:
        keywords = {**plan.keywords, "device": options.device, "global_header": muxer.wants_global_headers}
        encoder = tricodec.Encoder(width, height, **keywords)
        encoder._do_not_warn()  # an error that keeps it from its end is reported
        stream = muxer.add_stream(encoder.stream)
        for picture, layout in pictures:
            for packet in encoder.encode(picture, format=layout, pts=count):
                muxer.write(packet, stream)
            count += 1
            progress.advance()
        for packet in encoder.flush():
            muxer.write(packet, stream)
        if count == 0:
            message = f"'{options.input}' has no picture to encode"
            raise ValueError(message)
    facts = {"output": options.output, "num_frames": count, "width": width, "height": height, "encoder": encoder.engine}
    report(options, f"{counted(count, 'frame')} of {width}x{height} by {encoder.engine}: {options.output}", facts)
    if reader is not None:
        warn_of_damage(options.input, reader.num_damaged_packets)
    return 0


def _open(
    options: argparse.Namespace, reader: tricodec.FrameReader | None
) -> tuple[Iterator[tuple[Any, str]], int, int, object]:
    """The pictures with the name of their layout, their size, and the frame rate if it is known."""
    if reader is not None:
        stream = reader.stream
        rate = stream.average_frame_rate or stream.real_frame_rate
        return ((frame, "") for frame in reader), stream.width, stream.height, rate
    height, width = options.size
    layout = options.format or _RAW.get(PurePath(options.input).suffix.lower(), "yuv420p")
    return _raw(options.input, tricodec.video.picture_bytes(layout, width, height), layout), width, height, None


def _raw(name: str, size: int, layout: str) -> Iterator[tuple[Any, str]]:
    import numpy as np

    with sys.stdin.buffer if name == STDIO else Path(name).open("rb") as file:
        while data := file.read(size):
            if len(data) < size:
                message = f"'{name}' ends with {len(data)} bytes of a picture of {size}; --size and --format must fit"
                raise ValueError(message)
            picture = np.frombuffer(data, np.uint8)
            yield picture, layout


def _explain(parameters: dict[str, object], width: int, height: int, options: argparse.Namespace) -> int:
    facts: dict[str, dict[str, dict[str, str]]] = {}
    for codec in [str(parameters["codec"])] if "codec" in parameters else list(encode.CPU_ENCODERS):
        settings, _ = encode.Settings.of({**parameters, "codec": codec}, width, height)
        columns = [encode.CPU_ENCODERS[settings.codec], encode.NVENC_ENCODERS[settings.codec]]
        explained = [encode.explain(settings, encoder) for encoder in columns]
        facts[codec] = {encoder: dict(each) for encoder, each in zip(columns, explained, strict=True)}
        rows = [[names, *(dict(column)[names] for column in explained)] for names, _ in explained[0]]
        say(options, format_table(["parameter", *columns], rows) + "\n")
    print_facts(options, facts)
    return 0
