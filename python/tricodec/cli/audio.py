# SPDX-License-Identifier: Apache-2.0
"""`tricodec audio`: the sound of a file to a file of sound."""

from __future__ import annotations

import argparse
import contextlib
import itertools
from typing import Any

import tricodec
from tricodec.cli import shared
from tricodec.cli.inputs import Input, run_each, target_of
from tricodec.encode import write_audio
from tricodec.show import Progress

_EXAMPLES = (
    "tricodec audio video.mp4 -o sound.wav --rate 16000 --channels 1",
    "tricodec audio video.mp4 -o sound.m4a --start 0:01 --end 2.5",
    "tricodec audio videos/ -o sounds/",
)


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "audio", run,
        "Write the sound of files. It is decoded, resampled and mixed. The name of the output chooses the container: "
        "x.wav is WAV, and other containers have their own codec.",
        _EXAMPLES,
    )  # fmt: skip
    shared.add_options(parser, "files", "--start", "--end", "--stream")
    add = parser.add_argument
    add("-o", "--output", required=True, metavar="PATH", help=".wav, .flac, .mp3, .m4a, ...; a folder gets .wav files")
    add("--rate", dest="sample_rate", type=int, metavar="HZ", help="samples per second; default: the stream's")
    add("--channels", dest="num_channels", type=int, metavar="N", help="1 is mono, 2 stereo; default: the stream's")
    add("--codec", help="aac, opus, mp3, flac, pcm_s16le, ...; default: the container's")
    add("--bit-rate", type=int, default=0, metavar="BPS", help="bits per second; default: the encoder's own choice")
    shared.add_force(parser)


def run(options: argparse.Namespace) -> int:
    if options.start is not None and options.end is not None and options.end <= options.start:
        raise ValueError(f"--end {options.end:g} is not after --start {options.start:g}; name a later end")
    if options.output == shared.STDIO:
        raise ValueError("audio writes files, since most containers need their sizes first; name a file with -o")
    return run_each(options, _write, "num_samples")


def _write(each: Input, options: argparse.Namespace) -> dict[str, Any]:
    output = target_of(each, options, each.relative.with_suffix(".wav"))
    with (
        tricodec.AudioReader(shared.to_source(each.name), stream_index=options.stream_index) as reader,
        Progress(f"{each.label}: samples") as progress,
    ):
        start = 0 if options.start is None else reader.sample_at(options.start)
        count = -1 if options.end is None else max(0, reader.sample_at(options.end) - start)
        first = None
        chunks = reader.chunks(reader.sample_rate, start, count) if count else iter(())
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
            output, chunks_of(), reader.sample_rate, codec=options.codec, sample_rate=options.sample_rate,
            num_channels=options.num_channels, bit_rate=options.bit_rate,
        )  # fmt: skip
        rate, codec, num_damaged = reader.sample_rate, reader.stream.codec_name, reader.num_damaged_packets
        text = f"{num_samples / rate:.3f} s, of {codec} at {rate} Hz, {reader.channel_layout}: {output}"
    shared.say(options, f"{shared.counted(num_samples, 'sample')}, {text}")
    shared.warn_of_damage(each.shown, num_damaged)
    return {
        "file": each.name, "output": output, "num_samples": num_samples, "sample_rate": rate, "codec": codec,
        "num_damaged_packets": num_damaged,
    }  # fmt: skip
