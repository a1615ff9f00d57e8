# SPDX-License-Identifier: Apache-2.0
"""The generated test clips with sound, as media_recipes has those with pictures."""

from __future__ import annotations

from media_recipes import Recipe


def _sound(rate: int = 44100, channels: int = 2, seconds: float = 3) -> tuple[str, ...]:
    """A chirp on the left, a tone with noise on the right, other tones on further channels."""
    sides = ["0.5*sin(2*PI*(200+400*t)*t)", "0.3*sin(2*PI*880*t)+0.2*random(0)"]
    more = [f"0.2*sin(2*PI*{330 + 110 * number}*t)" for number in range(2, channels)]
    return ("-f", "lavfi", "-i", f"aevalsrc={'|'.join([*sides, *more][:channels])}:s={rate}:d={seconds}")


def _codec(name: str, options: str = "") -> tuple[str, ...]:
    return ("-c:a", name, *options.split())


_PICTURES = ("-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25", "-t", "3")
_X264 = tuple("-c:v libx264 -preset veryfast -crf 30 -threads 1 -g 10 -pix_fmt yuv420p".split())

AUDIO_RECIPES: dict[str, Recipe] = {
    "aac.mp4": Recipe("priming in an edit list", (*_sound(), *_codec("aac", "-b:a 96k"))),
    "aac_cut.mp4": Recipe("a start between two packets", ("-ss", "0.71", "-i", "@aac.mp4", "-c", "copy")),
    "aac.ts": Recipe("ADTS, no priming known", (*_sound(), *_codec("aac", "-b:a 96k"))),
    "aac.aac": Recipe("a bare stream", (*_sound(), *_codec("aac", "-b:a 96k"))),
    "aac.mkv": Recipe("time stamps in milliseconds", (*_sound(), *_codec("aac", "-b:a 96k"))),
    "mp3.mp3": Recipe("LAME's tag", (*_sound(), *_codec("libmp3lame", "-b:a 96k"))),
    "mp3.mp4": Recipe("another container", (*_sound(), *_codec("libmp3lame", "-b:a 96k"))),
    "mp3_16k.mp3": Recipe("MPEG-2 layer 3", (*_sound(16000, 1), *_codec("libmp3lame", "-b:a 32k"))),
    "opus.ogg": Recipe("pre-skip", (*_sound(48000), *_codec("libopus", "-b:a 64k"))),
    "opus.mkv": Recipe("CodecDelay", (*_sound(48000), *_codec("libopus", "-b:a 64k"))),
    "vorbis.ogg": Recipe("blocks of two sizes", (*_sound(), *_codec("libvorbis", "-q:a 3"))),
    "flac.flac": Recipe("a bare stream", (*_sound(), *_codec("flac"))),
    "flac.mkv": Recipe("another container", (*_sound(), *_codec("flac"))),
    "s16.wav": Recipe("PCM", (*_sound(), *_codec("pcm_s16le"))),
    "s24.wav": Recipe("32 bits from a decoder", (*_sound(), *_codec("pcm_s24le"))),
    "f32.wav": Recipe("floats", (*_sound(), *_codec("pcm_f32le"))),
    "u8.wav": Recipe("8 bits, mono", (*_sound(8000, 1), *_codec("pcm_u8"))),
    "s16.mov": Recipe("PCM with an index", (*_sound(), *_codec("pcm_s16le"))),
    "surround.wav": Recipe("5.1", (*_sound(48000, 6), *_codec("pcm_s16le"))),
    "long.wav": Recipe("longer than what a reader decodes ahead", (*_sound(16000, 2, 60), *_codec("pcm_s16le"))),
    "long.mp4": Recipe("the same, of a codec that remembers", (*_sound(16000, 2, 60), *_codec("aac", "-b:a 64k"))),
    "movie.mp4": Recipe(
        "a picture and two sounds",
        (*_PICTURES, *_sound(), *_sound(16000, 1), *"-map 0:v -map 1:a -map 2:a -shortest".split(), *_X264,
         *_codec("aac", "-b:a 96k")),
    ),
}  # fmt: skip
