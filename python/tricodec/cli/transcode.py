# SPDX-License-Identifier: Apache-2.0
"""`tricodec transcode`: video files to others."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

import tricodec
from tricodec.cli import shared
from tricodec.cli.inputs import Input, run_each, target_of
from tricodec.show import Progress

_STREAMABLE = {"mkv": "matroska", "ts": "mpegts", "mp4": "mp4", "webm": "webm", "mov": "mov"}
#: What `tricodec.transcode` gets of the options as it is, and what the facts have of its result.
_KEYWORDS = (
    "codec", "device", "stream_index", "crop", "crf", "preset", "deinterlace", "start", "end", "audio", "audio_codec",
    "audio_bit_rate", "bit_rate", "pixel_format", "num_workers", "num_threads", "fast_start", "fragmented",
)  # fmt: skip
_FACTS = (
    "num_frames", "seconds", "num_audio_packets", "size_bytes", "decoder", "encoder", "left_out", "num_damaged_packets",
)  # fmt: skip

_EXAMPLES = (
    "tricodec transcode video.mp4 small.mkv --size 640x-2 --crf 28 --preset veryfast",
    "tricodec transcode videos/ -o small/ --codec hevc --option x265-params=log-level=error --end 0:01",
    "tricodec transcode video.mp4 -o - --end 1.5 | tricodec frames - --contact-sheet -o sheet.png",
)


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "transcode", run,
        "Decode, resize and encode videos. Their sound is copied, or encoded too. Without -o the second of two names "
        "is the output.",
        _EXAMPLES,
    )  # fmt: skip
    shared.add_options(parser, "files", "--start", "--end", "--size", "--crop", "--stream", "--device", "--option")
    add = parser.add_argument
    add("-o", "--output", metavar="PATH", help=".mp4, .mkv, ...; a folder for several FILEs; - is standard output")
    add("--container", dest="format", choices=tuple(_STREAMABLE), help="default: by the name; mkv on standard output")
    add("--codec", default="h264", help="h264 (default), hevc, av1, an encoder of libavcodec, or copy (no decoding)")
    add("--crf", type=float, metavar="Q", help="constant quality: lower is better and larger")
    add("--preset", metavar="NAME", help="speed of the encoder: ultrafast ... veryslow; p1 ... p7")
    add("--bit-rate", type=int, default=0, metavar="BPS", help="bits per second; default: the encoder's own choice")
    add("--pixel-format", metavar="NAME", help="format of the result: yuv420p, yuv420p10le, ...")
    add("--deinterlace", action="store_true", help="make progressive pictures of interlaced ones")
    add("--no-audio", dest="audio", action="store_false", help="leave out audio")
    add("--audio-codec", help="encode the audio again: aac, opus, mp3, ...; default: copy it")
    add("--audio-bit-rate", type=int, default=0, metavar="BPS", help="of --audio-codec; default: its own choice")
    add("--workers", dest="num_workers", type=int, default=1, metavar="N", help="parts done at a time (default 1)")
    add("--threads", dest="num_threads", type=int, default=0, metavar="N", help="of each codec (default: its choice)")
    add("--fast-start", action="store_true", help="write the index of an mp4 before its samples")
    add("--fragmented", action="store_true", help="write an mp4 in fragments")
    shared.add_force(parser)


def run(options: argparse.Namespace) -> int:
    if options.output is None:
        if len(options.files) != 2:
            options.parser.error("name the output with -o: a file for one FILE, a folder for several")
        options.output = options.files.pop()
    elif re.fullmatch(r"\w+=[\w.+-]+", options.output):
        options.parser.error(f"-o names the output; an option of the encoder is --option {options.output}")
    return run_each(options, _transcode, "num_frames")


def _transcode(each: Input, options: argparse.Namespace) -> dict[str, Any]:
    output = target_of(each, options, each.relative.with_suffix("." + (options.format or "mp4")))
    with Progress(f"{each.label}: ms of video") as bar:

        def progress(_frames: int, seconds: float, total: float) -> bool:
            bar.show(round(seconds * 1000), round(total * 1000))
            return True

        source = shared.to_source(each.name)
        if options.size and min(options.size) < 0:
            source, size = _shaped(source, options)
        else:
            size = options.size
        keywords = {name: getattr(options, name) for name in _KEYWORDS}
        is_named = output == shared.STDIO or options.format
        result = tricodec.transcode(
            source, sys.stdout.buffer if output == shared.STDIO else output, size=size, progress=progress,
            format=_STREAMABLE[options.format or "mkv"] if is_named else "", options=dict(options.options), **keywords,
        )  # fmt: skip
    packets = shared.counted(result.num_audio_packets, "audio packet")
    text = f"{result.seconds:.3f} s, {packets}, by {result.decoder} and {result.encoder}: {shared.shown_target(output)}"
    shared.say(options, f"{shared.counted(result.num_frames, 'frame')}, {text}")
    if result.left_out:
        shared.say(options, f"{each.shown}: left out: {result.left_out}")
    shared.warn_of_damage(each.shown, result.num_damaged_packets)
    return {"file": each.name, "output": output, **{name: getattr(result, name) for name in _FACTS}}


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
    return source, shared.full_size(options.size, width, height)
