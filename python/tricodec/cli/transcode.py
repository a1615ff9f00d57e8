# SPDX-License-Identifier: Apache-2.0
"""`tricodec transcode`: one video file to another."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import tricodec
from tricodec.cli.shared import Progress, parse_size, refuse_own_source, warn_of_damage


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "transcode",
        parents=[common],
        help="decode, resize and encode a video; copy or encode its audio",
        description="Decode a video, crop and resize it, encode it, and copy its audio, or encode it too.",
    )
    parser.add_argument("input", metavar="INPUT", help="a video file")
    parser.add_argument("output", metavar="OUTPUT", help=".mp4, .mkv, .webm, .ts, ...")
    parser.add_argument(
        "--codec", default="h264", help="h264 (default), hevc, av1, or the name of a libavcodec encoder"
    )
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda, cuda:N")
    parser.add_argument("--size", type=parse_size, metavar="HxW", help="resize to this height and width")
    parser.add_argument(
        "--crop",
        nargs=4,
        type=int,
        metavar=("TOP", "LEFT", "HEIGHT", "WIDTH"),
        help="keep this part of the stored picture, in pixels",
    )
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
    parser.add_argument(
        "--bit-rate", type=int, default=0, metavar="BITS_PER_SECOND", help="default: the encoder's own choice"
    )
    parser.add_argument("--pixel-format", metavar="NAME", help="format of the result: yuv420p, yuv420p10le, ...")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="parts that are transcoded at the same time (default 1)"
    )
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N", help="threads of each codec (default: its own choice)"
    )
    parser.add_argument(
        "-o", "--option", action="append", default=[], metavar="NAME=VALUE",
        help="option of the encoder: preset=fast, crf=23",
    )  # fmt: skip
    parser.add_argument("--fast-start", action="store_true", help="write the index before the samples")
    parser.add_argument("--fragmented", action="store_true", help="write an mp4 in fragments")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Transcodes, with a progress bar."""
    refuse_own_source(options.input, options.output)
    encoder_options = {}
    for text in options.option:
        name, separator, value = text.partition("=")
        if not separator:
            message = f"-o {text}: write it as NAME=VALUE"
            raise ValueError(message)
        encoder_options[name] = value
    with Progress("transcode") as bar:
        shown = 0

        def progress(frames: int, _seconds: float, _total: float) -> bool:
            nonlocal shown
            bar.advance(frames - shown)
            shown = frames
            return True

        result = tricodec.transcode(
            options.input, options.output, codec=options.codec, device=options.device, crop=options.crop,
            size=options.size, start=options.start, end=options.end, audio=not options.no_audio,
            audio_codec=options.audio_codec, audio_bit_rate=options.audio_bit_rate,
            bit_rate=options.bit_rate, pixel_format=options.pixel_format, num_workers=options.workers,
            num_threads=options.threads, options=encoder_options, fast_start=options.fast_start,
            fragmented=options.fragmented, progress=progress,
        )  # fmt: skip
    print(
        f"{result.num_frames} frames, {result.seconds:.3f} s, {result.num_audio_packets} audio packets, by "
        f"{result.decoder} and {result.encoder}: {options.output}",
        file=sys.stdout,
    )
    warn_of_damage(options.input, result.num_damaged_packets)
    return 0
