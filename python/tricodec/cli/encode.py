# SPDX-License-Identifier: Apache-2.0
"""`tricodec encode`: raw pictures or a video to an encoded file, by the parameters of NVIDIA's encoder API."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tricodec
from tricodec import encode
from tricodec.cli import shared
from tricodec.cli.inputs import Input, run_each, target_of
from tricodec.encode.settings import PARAMETERS
from tricodec.options import meant
from tricodec.show import Progress, format_table

#: Names of raw pictures, and their layout unless --format names it. ffmpeg too writes .yuv as planes.
_RAW = {".yuv": "yuv420p", ".raw": "yuv420p", ".nv12": "nv12", ".rgb": "rgb24"}

_EXAMPLES = (
    "tricodec encode raw.yuv -o video.mkv --size 1280x720 -p codec=hevc -p bitrate=4M",
    "tricodec frames video.mp4 --raw -o - | tricodec encode - -o again.mp4 --size 1280x720",
    "tricodec encode --explain -p codec=h264 -p preset=P4",
)


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "encode", run,
        "Encode raw pictures or a video. Raw pictures are files .yuv, .raw, .nv12 and .rgb, and - for standard input. "
        "The parameters are those of PyNvVideoCodec's encoder.",
        _EXAMPLES,
    )  # fmt: skip
    add = parser.add_argument
    add("files", metavar="FILE", nargs="*", help="raw pictures, any video, a folder of videos, or -")
    add("-o", "--output", metavar="PATH", help=".mp4, .mkv, .ivf, .h264, ...; a folder gets .mp4 files")
    add("--size", type=shared.parse_size, metavar="WIDTHxHEIGHT", help="width and height of raw pictures")
    help = "layout of raw pictures: yuv420p (default; of .nv12 nv12, of .rgb rgb24), nv12, rgb24, ABGR, ..."
    add("--format", help=help)
    add(
        "-p", "--parameter", type=shared.parse_pair, action="append", default=[], metavar="NAME=VALUE",
        help="codec, preset, rc, bitrate, ...; repeatable",
    )  # fmt: skip
    shared.add_options(parser, "--device")
    add("--explain", action="store_true", help="print what each encoder makes of -p; encode nothing")
    shared.add_force(parser)


def run(options: argparse.Namespace) -> int:
    if options.explain:
        return _explain(options)
    if not options.files or not options.output:
        options.parser.error("name FILE and its output, as in `tricodec encode raw.yuv -o video.mp4`, or --explain")
    if options.output == shared.STDIO:
        raise ValueError("encode writes files; `tricodec transcode -o -` writes to standard output")
    if options.size and min(options.size) < 0:
        raise ValueError("raw pictures do not say their shape; --size needs both numbers, such as --size 1280x720")
    return run_each(options, _encode, "num_frames")


def _encode(each: Input, options: argparse.Namespace) -> dict[str, Any]:
    output = target_of(each, options, each.relative.with_suffix(".mp4"))
    suffix = each.relative.suffix.lower()
    layout = options.format or _RAW.get(suffix) or ("yuv420p" if each.name == shared.STDIO else "")
    if layout and not options.size:
        raise ValueError("raw pictures do not say their size; pass --size WIDTHxHEIGHT, such as --size 1280x720")
    if not layout and options.size:
        raise ValueError(
            f"--size is of raw pictures, and '{each.name}' is a video; `tricodec transcode --size` resizes, and "
            "--format says that a file has raw pictures"
        )
    parameters: dict[str, object] = dict(options.parameter)
    reader = None
    pictures: Iterable[Any]
    if layout:
        height, width = options.size
        pictures = _raw(each.name, tricodec.video.picture_bytes(layout, width, height))
    else:
        pictures = reader = tricodec.FrameReader(each.name, device="cpu")
        width, height = reader.stream.width, reader.stream.height
        rate = reader.stream.average_frame_rate or reader.stream.real_frame_rate
        parameters = {**({"fps": str(rate)} if rate else {}), **parameters}
    settings, unknown = encode.Settings.of(parameters, width, height)
    if unknown:
        near = meant(unknown[0], PARAMETERS) or "; `tricodec encode --explain` lists the known ones"
        raise ValueError(f"unknown parameters: {', '.join(unknown)}{near}")
    plan = encode.build(settings, tricodec.encode.encoder_for(settings.codec, options.device))
    for names, reason in plan.notes.items():
        print(f"tricodec: {names}: {reason}", file=sys.stderr)
    count = 0
    with tricodec.Muxer(output) as muxer, Progress(f"{each.label}: frames") as progress:
        keywords = {**plan.keywords, "device": options.device, "global_header": muxer.wants_global_headers}
        encoder = tricodec.Encoder(width, height, **keywords)
        encoder._do_not_warn()  # an error that keeps it from its end is reported
        stream = muxer.add_stream(encoder.stream)
        for picture in pictures:
            for packet in encoder.encode(picture, format=layout, pts=count):
                muxer.write(packet, stream)
            count += 1
            progress.advance()
        for packet in encoder.flush():
            muxer.write(packet, stream)
        if count == 0:
            raise ValueError(f"'{each.name}' has no picture to encode")
    shared.say(options, f"{shared.counted(count, 'frame')} of {width}x{height} by {encoder.engine}: {output}")
    if reader is not None:
        shared.warn_of_damage(each.shown, reader.num_damaged_packets)
    return {
        "file": each.name, "output": output, "num_frames": count, "width": width, "height": height,
        "encoder": encoder.engine,
    }  # fmt: skip


def _raw(name: str, size: int) -> Iterator[Any]:
    import numpy as np

    with sys.stdin.buffer if name == shared.STDIO else Path(name).open("rb") as file:
        while data := file.read(size):
            if len(data) < size:
                what = f"{len(data)} bytes of a picture of {size}"
                raise ValueError(f"'{name}' ends with {what}; --size and --format must fit")
            yield np.frombuffer(data, np.uint8)


def _explain(options: argparse.Namespace) -> int:
    parameters: dict[str, object] = dict(options.parameter)
    height, width = options.size or (1080, 1920)
    facts: dict[str, dict[str, dict[str, str]]] = {}
    for codec in [str(parameters["codec"])] if "codec" in parameters else list(encode.CPU_ENCODERS):
        settings, _ = encode.Settings.of({**parameters, "codec": codec}, width, height)
        columns = [encode.CPU_ENCODERS[settings.codec], encode.NVENC_ENCODERS[settings.codec]]
        explained = [encode.explain(settings, encoder) for encoder in columns]
        facts[codec] = {encoder: dict(each) for encoder, each in zip(columns, explained, strict=True)}
        rows = [[names, *(dict(column)[names] for column in explained)] for names, _ in explained[0]]
        shared.say(options, format_table(["parameter", *columns], rows) + "\n")
    shared.print_facts(options, facts)
    return 0
