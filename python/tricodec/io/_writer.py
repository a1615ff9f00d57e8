# SPDX-License-Identifier: Apache-2.0
"""StreamWriter and CodecConfig: torchaudio's, on this package's core."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

from tricodec._tricodec import NativeCodecConfig, NativeStreamWriter
from tricodec.io._streams import StreamArgumentError, argument_errors, expect_integers


@dataclass
class CodecConfig:
    """Fields of every encoder of libavcodec. A field that is not given has the encoder's default."""

    bit_rate: int = -1
    """Bits per second."""
    compression_level: int = -1
    """Effort, in the encoder's own units."""
    qscale: float | None = None
    """A fixed quality, for encoders that have one (mpeg4, mjpeg, libmp3lame). For libx264 and NVENC set ``crf``, ``cq``
    or ``qp`` in `encoder_option`."""
    gop_size: int = -1
    """The greatest number of frames from a key frame to the next."""
    max_b_frames: int = -1
    """The greatest number of B frames in a row."""

    def _native(self) -> NativeCodecConfig:
        return NativeCodecConfig(*astuple(self))


def _exported(chunk: Any) -> Any:
    """A torch tensor that requires gradients exports nothing."""
    return chunk.detach() if hasattr(chunk, "detach") else chunk


class StreamWriter:
    """Encode audio and video streams chunk by chunk into a container.

    Add streams, open the writer, write chunks, then leave the ``with`` block or call `flush` and `close`:

        writer = StreamWriter("a.mp4")
        writer.add_video_stream(frame_rate=30, width=640, height=360)
        with writer.open():
            writer.write_video_chunk(0, frames)  # uint8 [time, 3, 360, 640]

    A file gets its name, and may replace an old one, when it is complete. The old file stays if an exception leaves the
    block, if an open writer is dropped (ResourceWarning), or if the process ends.

    Chunks are numpy arrays, torch tensors, or objects with DLPack, the buffer protocol or, in GPU memory,
    ``__cuda_array_interface__``.

    Thread safety: safe; calls run one after another.
    """

    def __init__(self, dst: Any, format: str | None = None, buffer_size: int = 4096) -> None:
        """Choose the destination; `open` opens it.

        Args:
            dst: a path (str or os.PathLike), or an object with ``write(bytes) -> int`` and, for containers such as mp4,
                ``seek(offset, whence) -> int``.
            format: name of the container, as in ``ffmpeg -f``; None follows the extension of the path. File-like
                objects need it.
            buffer_size: accepted without effect, as an argument of torchaudio.

        Raises:
            StreamArgumentError: the container is not known.
            RefusedError: the destination is a URL, or the container opens files by itself.
        """
        if buffer_size < 1:
            raise StreamArgumentError(f"buffer_size must be positive, not {buffer_size}")
        target: Any = os.fspath(dst) if isinstance(dst, os.PathLike) else dst
        if format is None and not isinstance(target, (str, bytes)):
            message = '`format` must be provided when the input is file-like object: format="mp4", for instance'
            raise StreamArgumentError(message)
        with argument_errors():
            self._native = NativeStreamWriter(target, format or "")

    def add_audio_stream(
        self,
        sample_rate: int,
        num_channels: int,
        format: str = "flt",
        *,
        encoder: str | None = None,
        encoder_option: Mapping[str, str] | None = None,
        encoder_sample_rate: int | None = None,
        encoder_num_channels: int | None = None,
        encoder_format: str | None = None,
        codec_config: CodecConfig | None = None,
        filter_desc: str | None = None,
    ) -> None:
        """Add a stream of audio. Samples are converted to a rate and to channels that the encoder supports.

        Args:
            sample_rate: sample rate of the chunks in Hz.
            num_channels: number of channels of the chunks.
            format: sample format of the chunks: u8, s16, s32, s64, flt or dbl.
            encoder: FFmpeg's name of the encoder; None is the default of the container.
            encoder_option: options of the encoder; ``threads`` is "1" by default.
            encoder_sample_rate: encoded sample rate in Hz; None is that of the chunks, or the nearest supported one.
            encoder_num_channels: encoded number of channels; None is that of the chunks, or the nearest supported one.
            encoder_format: encoded format; None is the first format that the encoder supports.
            codec_config: bit rate and other fields of the encoder; None keeps its defaults.
            filter_desc: filters before the encoder, as ``ffmpeg -af`` or ``-vf`` takes them; None is no filter.

        Raises:
            StreamArgumentError: an argument is not accepted; the text lists the accepted values.
            UnsupportedError: the encoder is not available on this machine; the text has FFmpeg's reason.
        """
        expect_integers(
            sample_rate=sample_rate, num_channels=num_channels, encoder_sample_rate=encoder_sample_rate,
            encoder_num_channels=encoder_num_channels,
        )  # fmt: skip
        with argument_errors():
            self._native.add_audio_stream(
                sample_rate, num_channels, format, encoder or "", dict(encoder_option or {}), encoder_sample_rate or 0,
                encoder_num_channels or 0, encoder_format or "", (codec_config or CodecConfig())._native(),
                filter_desc or "",
            )  # fmt: skip

    def add_video_stream(
        self,
        frame_rate: float,
        width: int,
        height: int,
        format: str = "rgb24",
        *,
        encoder: str | None = None,
        encoder_option: Mapping[str, str] | None = None,
        encoder_frame_rate: float | None = None,
        encoder_width: int | None = None,
        encoder_height: int | None = None,
        encoder_format: str | None = None,
        codec_config: CodecConfig | None = None,
        filter_desc: str | None = None,
        hw_accel: str | None = None,
    ) -> None:
        """Add a stream of video. Pictures in host memory are converted to a size and format that the encoder supports.

        Args:
            frame_rate: frames per second of the chunks; 30000 / 1001 and similar rates are exact.
            width: width of the chunks in pixels.
            height: height of the chunks in pixels.
            format: pixel format of the chunks: gray8, rgb24, bgr24, yuv444p, gbrp, rgb0, bgr0, rgba, ... as
                [time, channel, height, width]; yuv420p and nv12 as [time, 1, height * 3 / 2, width].
            encoder, encoder_option, encoder_format, codec_config, filter_desc: as in `add_audio_stream`.
            encoder_frame_rate: encoded frames per second; None is the rate of the chunks.
            encoder_width: encoded width in pixels; None is that of the chunks.
            encoder_height: encoded height in pixels; None is that of the chunks.
            hw_accel: "cuda" or "cuda:N" for chunks in the memory of that GPU, in yuv444p, nv12, gbrp, rgb0 or bgr0,
                which are encoded without conversion. None: chunks are in host memory.

        Raises:
            StreamArgumentError, UnsupportedError: as `add_audio_stream`.
            DeviceError: the GPU of `hw_accel` is not available.
        """
        expect_integers(width=width, height=height, encoder_width=encoder_width, encoder_height=encoder_height)
        with argument_errors():
            self._native.add_video_stream(
                frame_rate, width, height, format, encoder or "", dict(encoder_option or {}),
                encoder_frame_rate or 0.0, encoder_width or 0, encoder_height or 0, encoder_format or "",
                (codec_config or CodecConfig())._native(), filter_desc or "", hw_accel or "",
            )  # fmt: skip

    def set_metadata(self, metadata: Mapping[str, str]) -> None:
        """Set the tags of the file, which replace earlier ones. Call it before `open`.

        Args:
            metadata: tags that the container supports: ``{"title": ...}``.
        """
        with argument_errors():
            self._native.set_metadata(dict(metadata))

    def open(self, option: Mapping[str, str] | None = None) -> StreamWriter:
        """Open the destination and write the header. A second call does nothing.

        Args:
            option: options of the muxer, such as ``{"movflags": "frag_keyframe+empty_moov"}``.

        Returns:
            The writer, for ``with writer.open():``.

        Raises:
            StreamArgumentError: an option is not known, or there is no stream.
            UnsupportedError: the container cannot hold a codec, or needs a destination that can seek.
            MediaIOError: the destination cannot be written.
        """
        with argument_errors():
            self._native.open(dict(option or {}))
        return self

    def write_audio_chunk(self, i: int, chunk: Any, pts: float | None = None) -> None:
        """Encode samples.

        Args:
            i: number of the stream.
            chunk: an array [frame, channel] with the dtype of the stream's format.
            pts: time of the first sample in seconds; None follows the last chunk.

        Raises:
            StreamArgumentError: the chunk does not fit the stream, or the output is not open.
        """
        with argument_errors():
            self._native.write_audio_chunk(i, _exported(chunk), pts)

    def write_video_chunk(self, i: int, chunk: Any, pts: float | None = None) -> None:
        """Encode pictures.

        Args:
            i: number of the stream.
            chunk: an array uint8 [time, channel, height, width], with any strides.
            pts: time of the first picture in seconds; None follows the last chunk.

        Raises:
            StreamArgumentError: the chunk does not fit the stream, or the output is not open.
        """
        with argument_errors():
            self._native.write_video_chunk(i, _exported(chunk), pts)

    def flush(self) -> None:
        """Encode the frames that filters and encoders hold back. No chunk can be written afterwards."""
        with argument_errors():
            self._native.flush()

    def close(self) -> None:
        """Write the trailer and close the output: the file gets its name. A second call does nothing.

        Raises:
            MediaIOError: the trailer cannot be written; an old file stays.
        """
        self._native.close()

    def discard(self) -> None:
        """Drop the output without finishing it: an old file stays."""
        self._native.discard()

    def __enter__(self) -> StreamWriter:
        """Return the open writer."""
        return self

    def __exit__(self, exc_type: object, exc: object, traceback: object) -> None:
        """Flush and close the output; after an exception discard it."""
        try:
            if exc is None:
                self.flush()
                self.close()
        finally:
            self.discard()  # does nothing after close()
