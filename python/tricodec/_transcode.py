# SPDX-License-Identifier: Apache-2.0
"""transcode(): one file to another."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tricodec import _tricodec
from tricodec._encoder_words import encoder_words

if TYPE_CHECKING:
    from tricodec._tricodec import Source, Target


@dataclasses.dataclass(frozen=True, slots=True)
class TranscodeResult:
    """What ``transcode`` did.

    Attributes:
        num_frames: frames that were written.
        num_audio_packets: audio packets that were copied.
        num_damaged_packets: video packets in the range that could not be decoded whole; they cost their frames.
            A codec with several threads may count one of them twice. Those that are missing behind the end of a source
            that was cut short count as one.
        size_bytes: of all packets.
        seconds: of the video that was written.
        decoder: who decoded, "libavcodec h264".
        encoder: who encoded, "libavcodec libx264".
        cancelled: True if ``progress`` ended it; what was written until then is a whole file.
        data: the file, where the target was None.
    """

    num_frames: int
    num_audio_packets: int
    num_damaged_packets: int
    size_bytes: int
    seconds: float
    decoder: str
    encoder: str
    cancelled: bool
    data: bytes | None = dataclasses.field(repr=False)


def transcode(
    source: Source,
    target: Target,
    *,
    codec: str = "h264",
    device: str = "auto",
    crop: Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    start: float | None = None,
    end: float | None = None,
    audio: bool = True,
    pixel_format: str | None = None,
    frame_rate: float | Fraction | tuple[int, int] | None = None,
    bit_rate: int = 0,
    crf: float | None = None,
    gop_size: int = -1,
    num_b_frames: int = -1,
    preset: str | None = None,
    num_threads: int = 0,
    num_workers: int = 1,
    options: Mapping[str, Any] | None = None,
    format: str = "",
    fast_start: bool = False,
    fragmented: bool = False,
    metadata: Mapping[str, str] | None = None,
    progress: Callable[[int, float, float], object] | None = None,
) -> TranscodeResult:
    """Decode a video, crop and resize it, encode it and write it to a container; audio is copied.

    The stages run on threads of their own. Rotation, colors, pixel shape and time stamps, also those of a
    variable frame rate, are carried over.

    Args:
        source: a path (str or os.PathLike), bytes-like, or an object with read(n) and, if it can,
            seek(offset, whence).
        target: a path, an object with write(bytes), or None: the result's ``data`` then has the file. A path has its
            file, and a file that is there is replaced, when the new one is whole; an exception leaves it as it was.
            It may be the source's own.
        codec: "h264", "hevc" or "av1", for which the engine is chosen, or one of ``encoder_names()``.
        device: "auto", "cpu", "cuda" or "cuda:N".
        crop: (top, left, height, width) of the pictures as they are stored; None is all of them.
        size: (height, width) of the result; None is that of the crop.
        start: seconds; frames from here on, which then start at 0. Exact, wherever key frames are.
        end: seconds; frames before this.
        audio: copy audio streams.
        pixel_format: of the result; None is the source's if the encoder takes it, else the nearest that it takes.
        frame_rate: what the stream says; None is the source's. Time stamps are not changed.
        bit_rate: bits per second; 0 is the encoder's own choice, mostly a constant quality.
        crf: constant quality, the encoder's option "crf" (NVENC's "cq"): smaller is better and larger.
        gop_size: most frames from a key frame to the next; -1 is the encoder's own choice.
        num_b_frames: most B frames in a row; -1 is the encoder's own choice.
        preset: the encoder's option "preset".
        num_threads: of each codec; 0 is its own choice.
        num_workers: parts, cut at key frames, that are transcoded side by side and joined without another encode.
            Each part has a rate control of its own.
        options: more options of the encoder, by FFmpeg's names: {"tune": "film"}.
        format: libavformat's name of the container; "" goes by the target's extension.
        fast_start: the index before the samples.
        fragmented: an mp4 or mov written strictly in order.
        metadata: of the file: "title", "comment", ...
        progress: called with (frames, seconds, expected seconds or 0) of the output; False cancels.

    Returns:
        TranscodeResult.

    Raises:
        ValueError: for options that are not accepted, an empty range, and a target that is an open file of the
            source, which would be overwritten while it is read.
        UnsupportedError: if nothing here encodes the codec, or the container does not hold it.
        CorruptDataError: if the source is no media file that is known, or none of its frames can be decoded.

    Thread safety: safe.
    """
    _refuse_open_source(source, target)
    encoder = encoder_words(
        codec=codec, device=device, bit_rate=bit_rate, gop_size=gop_size, num_b_frames=num_b_frames,
        num_threads=num_threads, pixel_format=pixel_format, frame_rate=frame_rate, crf=crf, preset=preset,
        options=options,
    )  # fmt: skip
    muxer = {
        "format": format,
        "fast_start": fast_start,
        "fragmented": fragmented,
        "metadata": dict(metadata or {}),
    }
    return TranscodeResult(
        **_tricodec.transcode(source, target, encoder, muxer, crop, size, start, end, audio, num_workers, progress)
    )


def _refuse_open_source(source: Any, target: Any) -> None:
    """Raises ValueError for an object that writes to the file that is read."""
    from_ = _file_status(source)
    if isinstance(target, (str, os.PathLike)) or from_ is None or not stat.S_ISREG(from_.st_mode):
        return
    to = _file_status(target)
    if to is not None and os.path.samestat(from_, to):
        message = f"the target {target!r} overwrites the source while it is read; pass its path, or another file"
        raise ValueError(message)


def _file_status(file: Any) -> os.stat_result | None:
    """Of a path, or of an object of an open file; None for anything else."""
    try:
        return Path(file).stat() if isinstance(file, (str, os.PathLike)) else os.fstat(file.fileno())
    except (AttributeError, OSError, ValueError):  # no such method, or an io.BytesIO's
        return None
