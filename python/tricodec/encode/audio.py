# SPDX-License-Identifier: Apache-2.0
"""encode_audio(): from an array of sound to a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tricodec._tricodec import AudioEncoder, Muxer

if TYPE_CHECKING:
    from tricodec._tricodec import Target


def encode_audio(
    audio: Any,
    audio_rate: int,
    *,
    container: str = "wav",
    codec: str | None = None,
    sample_rate: int | None = None,
    num_channels: int | None = None,
    bit_rate: int = 0,
    options: Mapping[str, Any] | None = None,
) -> bytes:
    """Encode an array of sound to a file in memory.

        >>> file = tricodec.encode_audio(np.zeros((2, 48000), np.float32), 48000, container="flac")
        >>> tricodec.AudioReader(file)[:].shape
        (2, 48000)

    Args:
        audio: an array in host memory: [channels, samples] or [samples], float32 (-1 to 1) or int16.
        audio_rate: samples per second of ``audio``.
        container: "wav", "flac", "mp3", "ogg", "mp4", "mkv", ...
        codec, bit_rate: as in `AudioEncoder`.
        sample_rate: samples per second in the file; None is ``audio_rate``, or the nearest that the codec has.
        num_channels: channels in the file; None is the number of ``audio``, or the nearest that the codec has.
        options: further options of the encoder, by FFmpeg's names.

    Returns:
        The file.

    Raises:
        ValueError: the shape or the type of the array, or an option, is not accepted.
        UnsupportedError: there is no encoder for the codec, or the container cannot hold the codec.

    Thread safety: safe.
    """
    data = write_audio(
        None, [np.atleast_2d(np.asarray(audio))], audio_rate, container=container, codec=codec, sample_rate=sample_rate,
        num_channels=num_channels, bit_rate=bit_rate, options=options,
    )  # fmt: skip
    assert data is not None
    return data


def write_audio(
    target: Target,
    chunks: Iterable[Any],
    audio_rate: int,
    *,
    container: str = "",
    codec: str | None = None,
    sample_rate: int | None = None,
    num_channels: int | None = None,
    bit_rate: int = 0,
    options: Mapping[str, Any] | None = None,
) -> bytes | None:
    """Encode chunks of sound [channels, samples] of one type to a file, as they come.

    Args:
        target: as in `Muxer`.
        chunks: at least one array.
        container: as in `encode_audio`; "" is by the extension of the target.
        audio_rate, codec, sample_rate, num_channels, bit_rate, options: as in `encode_audio`.

    Returns:
        The file if the target is None.

    Raises:
        ValueError: there is no chunk, or what `encode_audio` refuses.
    """
    with Muxer(target, format=container) as muxer:
        encoder = None
        stream = 0
        for chunk in chunks:
            if encoder is None:
                encoder = AudioEncoder(
                    audio_rate, len(chunk), dtype=chunk.dtype.name, codec=codec, container=muxer.format,
                    encoded_rate=sample_rate, encoded_channels=num_channels, bit_rate=bit_rate,
                    options={name: str(value) for name, value in (options or {}).items()},
                )  # fmt: skip
                stream = muxer.add_stream(encoder.stream)
            for packet in encoder.encode(chunk):
                muxer.write(packet, stream)
        if encoder is None:
            raise ValueError("there is no sound to write; pass at least one array")
        for packet in encoder.flush():
            muxer.write(packet, stream)
        muxer.finish()
        return muxer.getvalue() if target is None else None
