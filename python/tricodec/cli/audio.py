# SPDX-License-Identifier: Apache-2.0
"""`tricodec audio`: the sound of a file to a file of sound."""

from __future__ import annotations

import argparse
import contextlib
import itertools
from typing import Any

import tricodec
from tricodec.cli.output_files import refuse_existing
from tricodec.cli.shared import (
    STDIO,
    add_force,
    counted,
    refuse_own_source,
    report,
    shown_name,
    to_source,
    warn_of_damage,
)
from tricodec.encode import write_audio
from tricodec.show.progress import Progress

_CHUNK_SECONDS = 1


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "audio",
        parents=[common],
        help="write the sound of a file",
        description="Decode the sound of a video or audio file, resample and mix it, and write it. The name chooses "
        "the container: x.wav is WAV, and other containers have their own codec.",
    )
    parser.add_argument("input", metavar="FILE", help="a file with sound, - or a URL")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=".wav, .flac, .mp3, .ogg, .m4a, ...")
    parser.add_argument("--rate", type=int, metavar="HZ", help="samples per second; default: the stream's")
    parser.add_argument("--channels", type=int, metavar="N", help="1 is mono, 2 stereo; default: the stream's")
    parser.add_argument("--start", type=float, metavar="SECONDS", help="time of the first sample in the file")
    parser.add_argument("--end", type=float, metavar="SECONDS", help="samples from here on are left out")
    parser.add_argument("--stream", type=int, default=-1, metavar="N", help="number of the audio stream")
    parser.add_argument("--codec", help="aac, opus, mp3, flac, pcm_s16le, ...; default: the container's")
    parser.add_argument("--bit-rate", type=int, default=0, metavar="BPS", help="bits per second")
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Writes the file."""
    if options.start is not None and options.end is not None and options.end <= options.start:
        raise ValueError(f"--end {options.end:g} is not after --start {options.start:g}; name a later end")
    if options.output == STDIO:
        raise ValueError("audio writes files, since most containers need their sizes first; name a file with -o")
    if options.input != STDIO:
        refuse_own_source(options.input, options.output)
    refuse_existing(options.output, options.force)
    with (
        tricodec.AudioReader(to_source(options.input), stream_index=options.stream) as reader,
        Progress(f"{shown_name(options.input)}: samples") as progress,
    ):
        start = 0 if options.start is None else reader.sample_at(options.start)
        count = -1 if options.end is None else max(0, reader.sample_at(options.end) - start)
        first = None
        chunks = reader.chunks(_CHUNK_SECONDS * reader.sample_rate, start, count) if count else iter(())
        with contextlib.suppress(IndexError):  # --start is past the end
            first = next(chunks, None)
        if first is None or len(first) == 0:
            end = reader.start_seconds + reader.stream.duration_seconds
            raise ValueError(
                f"no sound lies in the range of --start and --end; there is sound from {reader.start_seconds:.3f} s to "
                f"{end:.3f} s"
            )
        num_samples = 0
        length = count if count >= 0 else round(reader.stream.duration_seconds * reader.sample_rate) - start

        def chunks_of() -> Any:
            nonlocal num_samples
            for chunk in itertools.chain([first], chunks):
                num_samples += len(chunk)
                progress.show(num_samples, length)
                yield chunk.data

        # Resampled and mixed where it is encoded: in one step to the encoder's type, as ffmpeg does.
        write_audio(
            options.output, chunks_of(), reader.sample_rate, codec=options.codec, sample_rate=options.rate,
            num_channels=options.channels, bit_rate=options.bit_rate,
        )  # fmt: skip
        facts = {
            "file": options.input, "output": options.output, "num_samples": num_samples,
            "sample_rate": reader.sample_rate, "codec": reader.stream.codec_name,
            "num_damaged_packets": reader.num_damaged_packets,
        }  # fmt: skip
        report(
            options,
            f"{counted(num_samples, 'sample')}, {num_samples / reader.sample_rate:.3f} s, of "
            f"{reader.stream.codec_name} at {reader.sample_rate} Hz, {reader.channel_layout}: {options.output}",
            facts,
        )
        warn_of_damage(shown_name(options.input), reader.num_damaged_packets)
    return 0
