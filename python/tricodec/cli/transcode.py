# SPDX-License-Identifier: Apache-2.0
"""`tricodec transcode`: video files to others."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import PurePath
from typing import Any

import tricodec
from tricodec.cli.inputs import Input, check_target, inputs_of, output_of, run_each
from tricodec.cli.shared import (
    SIZE,
    SIZE_HELP,
    STDIO,
    add_force,
    counted,
    full_size,
    pairs_of,
    parse_size,
    refuse_own_source,
    say,
    shown_target,
    to_source,
    warn_of_damage,
)
from tricodec.show.progress import Progress

_STREAMABLE = {"mkv": "matroska", "ts": "mpegts", "mp4": "mp4", "webm": "webm", "mov": "mov"}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "transcode",
        parents=[common],
        help="decode, resize and encode videos; copy or encode their audio",
        description="Decode videos, crop and resize them, encode them, and copy their audio, or encode it too. "
        "Without -o the second of two names is the output.",
    )
    parser.add_argument("files", metavar="INPUT", nargs="+", help="a video, a folder of videos, - or a URL")
    parser.add_argument(
        "-o", "--output", metavar="OUTPUT",
        help=".mp4, .mkv, .webm, .ts, ...; a folder for several inputs; - is standard output",
    )  # fmt: skip
    parser.add_argument(
        "--container",
        choices=tuple(_STREAMABLE),
        help="default: by the name of the output; mp4 in a folder, mkv on standard output",
    )
    parser.add_argument(
        "--codec", default="h264", help="h264 (default), hevc, av1, a libavcodec encoder, or copy (no decoding)"
    )
    parser.add_argument("--stream", type=int, default=-1, metavar="N", help="number of the video stream")
    parser.add_argument("--crf", type=float, metavar="Q", help="constant quality: lower is better and larger")
    parser.add_argument("--preset", metavar="NAME", help="speed of the encoder: ultrafast ... veryslow; p1 ... p7")
    parser.add_argument(
        "--bit-rate", type=int, default=0, metavar="BITS_PER_SECOND", help="default: the encoder's own choice"
    )
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda, cuda:N")
    parser.add_argument("--size", type=parse_size, metavar=SIZE, help=SIZE_HELP)
    parser.add_argument(
        "--crop",
        nargs=4,
        type=int,
        metavar=("TOP", "LEFT", "HEIGHT", "WIDTH"),
        help="keep this part of the upright picture, in pixels",
    )
    parser.add_argument("--deinterlace", action="store_true", help="make progressive pictures of interlaced ones")
    parser.add_argument("--start", type=float, metavar="SECONDS", help="time of the first frame (default: the start)")
    parser.add_argument("--end", type=float, metavar="SECONDS", help="leave out frames from here on (default: the end)")
    parser.add_argument("--no-audio", action="store_true", help="leave out audio")
    parser.add_argument("--audio-codec", help="encode the audio again: aac, opus, mp3, ...; default: copy it")
    parser.add_argument(
        "--audio-bit-rate",
        type=int,
        default=0,
        metavar="BITS_PER_SECOND",
        help="of --audio-codec; default: its own choice",
    )
    parser.add_argument("--pixel-format", metavar="NAME", help="format of the result: yuv420p, yuv420p10le, ...")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="parts that are transcoded at the same time (default 1)"
    )
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N", help="threads of each codec (default: its own choice)"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="such as tune=film, of the encoder; repeatable",
    )
    parser.add_argument("--fast-start", action="store_true", help="write the index of an mp4 before its samples")
    parser.add_argument("--fragmented", action="store_true", help="write an mp4 in fragments")
    add_force(parser, can_resume=True)
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Transcodes each input, with a progress bar."""
    if options.output is None:
        if len(options.files) != 2:
            options.parser.error("name the output with -o: a file for one INPUT, a folder for several")
        options.output = options.files.pop()
    elif re.fullmatch(r"\w+=[\w.+-]+", options.output):
        options.parser.error(f"-o names the output; an option of the encoder is --option {options.output}")
    inputs = inputs_of(options.files)
    return run_each(options, inputs, lambda each: _transcode(each, inputs, options), unit="num_frames")


def _transcode(each: Input, inputs: list[Input], options: argparse.Namespace) -> dict[str, Any]:
    name = each.relative.with_suffix("." + (options.container or "mp4"))
    output = output_of(each, inputs, options.output, PurePath(name))
    assert output is not None
    if STDIO not in (output, each.name):
        refuse_own_source(each.name, output)
    if output != STDIO:
        check_target(output, options)
    with Progress(f"{each.label}: ms of video") as bar:

        def progress(_frames: int, seconds: float, total: float) -> bool:
            bar.show(round(seconds * 1000), round(total * 1000))
            return True

        source = to_source(each.name)
        if options.size and min(options.size) < 0:
            source, size = _shaped(source, options)
        else:
            size = options.size
        result = tricodec.transcode(
            source, sys.stdout.buffer if output == STDIO else output,
            format=_STREAMABLE[options.container or "mkv"] if output == STDIO or options.container else "",
            codec=options.codec, device=options.device, stream_index=options.stream, crop=options.crop,
            crf=options.crf, preset=options.preset,
            size=size, deinterlace=options.deinterlace, start=options.start, end=options.end,
            audio=not options.no_audio,
            audio_codec=options.audio_codec, audio_bit_rate=options.audio_bit_rate,
            bit_rate=options.bit_rate, pixel_format=options.pixel_format, num_workers=options.workers,
            num_threads=options.threads, options=pairs_of("--option", options.option), fast_start=options.fast_start,
            fragmented=options.fragmented, progress=progress,
        )  # fmt: skip
    say(
        options,
        f"{counted(result.num_frames, 'frame')}, {result.seconds:.3f} s, "
        f"{counted(result.num_audio_packets, 'audio packet')}, by "
        f"{result.decoder} and {result.encoder}: {shown_target(output)}",
    )
    if result.left_out:
        say(options, f"{each.shown}: left out: {result.left_out}")
    warn_of_damage(each.shown, result.num_damaged_packets)
    return {
        "file": each.name, "output": output, "num_frames": result.num_frames, "seconds": result.seconds,
        "num_audio_packets": result.num_audio_packets, "size_bytes": result.size_bytes, "decoder": result.decoder,
        "encoder": result.encoder, "left_out": result.left_out, "num_damaged_packets": result.num_damaged_packets,
    }  # fmt: skip


def _shaped(source: Any, options: argparse.Namespace) -> tuple[Any, tuple[int, int] | None]:
    """The source, and the size that keeps the shape of its picture."""
    if source is sys.stdin.buffer:
        source = source.read()  # it is read twice
    video = tricodec.probe(source).video
    if video is None:
        return source, None  # transcode() says what is wrong
    width, height = (video.height, video.width) if video.rotation % 180 else (video.width, video.height)
    if options.crop:
        height, width = options.crop[2:]
    return source, full_size(options.size, width, height)
