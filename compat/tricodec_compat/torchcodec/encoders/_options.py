# SPDX-License-Identifier: Apache-2.0
"""The options of torchcodec's streams as options of StreamWriter, and its errors with torchcodec's texts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tricodec import Error
from tricodec.encode import encoder_for
from tricodec.io import CodecConfig, StreamWriter
from tricodec.io.ffmpeg_utils import get_video_encoders

_MUXER_OPTIONS = ("movflags", "fflags", "flush_packets", "frag_duration", "frag_size", "min_frag_duration")
_FRAGMENTED = {".mp4": "mp4", ".m4v": "mp4", ".mov": "mov"}
#: The first of these that the encoder takes loses the least of float32.
_SAMPLE_FORMATS = ("fltp", "flt", "s32p", "s32", "s16p", "s16")
#: Values of the encoders' option `colorspace`, and what the filter `scale` calls them.
_MATRICES = {
    "bt709": "bt709", "fcc": "fcc", "bt470bg": "bt470", "smpte170m": "smpte170m", "smpte240m": "smpte240m",
    "bt2020nc": "bt2020", "bt2020_ncl": "bt2020",
}  # fmt: skip
#: Refusals of this package, and torchcodec's texts for them, which callers look for.
_REFUSALS = (
    (r"out of range \(Error setting option (\S+) to value (.*?)\.\)", r"\1=\2 is out of valid range"),
    (r"Error setting option (\S+) to value (.*?)\.\)", r"Option \1 expects a numeric value but got '\2'"),
    (r"cannot open the encoder .*: Invalid argument|preset '.*' is not one of",
     r"avcodec_open2 failed: Invalid argument"),
    (r"encoder_format '(.*)' is not a pixel format; .* accepts (.*)",
     r"Unknown pixel format: \1. Supported pixel formats: \2"),
    (r"encoder_format (\S+) is not accepted by '(\S+)'; it accepts (.*)",
     r"Specified pixel format \1 is not supported by the encoder \2. Supported pixel formats: \3"),
    (r"encoder_num_channels (\S+) is not accepted by .*; it accepts (.*)",
     r"Desired number of channels (\1) is not supported. Supported numbers: \2"),
    (r"encoder_sample_rate (\S+) is not accepted by .*; it accepts (.*)",
     r"invalid sample rate=\1. Supported sample rate values are: \2"),
)  # fmt: skip


def _torchcodec_words(text: str) -> str | None:
    for pattern, words in _REFUSALS:
        found = re.search(pattern, text)
        if found:
            return found.expand(words)
    return None


@contextlib.contextmanager
def refusals(hint: str = "", head: str = "") -> Iterator[None]:
    """Raise RuntimeError for all that FFmpeg refuses: the head, the hint, then this package's text."""
    try:
        yield
    except (ValueError, OSError, Error) as error:
        words = [head, hint, _torchcodec_words(str(error)) or "", f"({error})"]
        raise RuntimeError(" ".join(filter(None, words))) from error


def grows_in_place(dest: str | Path, streams: Sequence[dict[str, Any]]) -> str | None:
    """The container of a fragmented mp4, which is read while it is written; None of other files."""
    fragmented = any("frag" in str(options.get("extra", {}).get("movflags", "")) for options in streams)
    return _FRAGMENTED.get(Path(dest).suffix.lower()) if fragmented else None


def add_video(writer: StreamWriter, options: dict[str, Any]) -> dict[str, str]:
    """Add a stream of video.

    An encoder without `crf` or `preset` is opened without them, as torchcodec does.

    Returns:
        The options that are the container's.
    """
    extra = {name: str(value) for name, value in options["extra"].items()}
    given = {name: str(options[name]) for name in ("crf", "preset") if options[name] is not None}
    encoder_options = {name: value for name, value in extra.items() if name not in _MUXER_OPTIONS} | given
    encoder = _encoder_name(options["codec"])

    def add() -> None:
        writer.add_video_stream(
            options["frame_rate"], options["width"], options["height"], "rgb24", encoder=encoder,
            encoder_option=encoder_options, encoder_format=options["pixel_format"], filter_desc=_conversion(extra),
        )  # fmt: skip

    try:
        add()
    except ValueError as error:
        unknown = [name for name in given if f"'{name}'" in str(error)]
        if not str(error).startswith("unexpected encoder options") or not unknown:
            raise
        for name in unknown:
            del encoder_options[name]
        add()
    return {name: value for name, value in extra.items() if name in _MUXER_OPTIONS}


def _conversion(extra: dict[str, str]) -> str | None:
    """The filter that makes samples of the matrix and range that the stream is marked with."""
    words = []
    if extra.get("colorspace") in _MATRICES:
        words.append(f"out_color_matrix={_MATRICES[extra['colorspace']]}")
    if extra.get("color_range") in ("pc", "tv", "jpeg", "mpeg"):
        words.append(f"out_range={extra['color_range']}")
    return f"scale={':'.join(words)}" if words else None


def _encoder_name(codec: str | None) -> str | None:
    """The encoder of this name, or the one for the codec of this name."""
    if codec is None or codec in get_video_encoders():
        return codec
    known = {"vp8": "libvpx", "vp9": "libvpx-vp9", "theora": "libtheora", "av1": "libaom-av1"}
    if known.get(codec) in get_video_encoders():
        return known[codec]
    try:
        return encoder_for(codec, "cpu")
    except (ValueError, Error) as error:
        raise RuntimeError(f"Video codec {codec} not found. ({error})") from error


def add_audio(writer: StreamWriter, options: dict[str, Any]) -> None:
    """Add a stream of sound."""
    bit_rate = options["bit_rate"]
    if bit_rate is not None and bit_rate < 0:
        raise RuntimeError(f"bit_rate={bit_rate} must be >= 0.")
    for format in _SAMPLE_FORMATS:
        try:
            writer.add_audio_stream(
                options["sample_rate"], options["num_channels"], "flt", encoder_format=format,
                encoder_sample_rate=options["out_sample_rate"], encoder_num_channels=options["out_num_channels"],
                codec_config=None if bit_rate is None else CodecConfig(bit_rate=bit_rate),
            )  # fmt: skip
        except ValueError as error:
            if format == _SAMPLE_FORMATS[-1] or not str(error).startswith("encoder_format"):
                raise
        else:
            return
