# SPDX-License-Identifier: Apache-2.0
"""StreamWriter and CodecConfig: torchaudio's, on this package's core."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tricodec._tricodec import NativeCodecConfig, NativeStreamWriter
from tricodec.io._errors import StreamArgumentError, argument_errors

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass
class CodecConfig:
    """Fields that every encoder of libavcodec has; what is not given is the encoder's default."""

    bit_rate: int = -1
    """Bits per second."""
    compression_level: int = -1
    """How hard to try, in the encoder's own units."""
    qscale: float | None = None
    """A fixed quality, for encoders that have one (mpeg4, mjpeg, libmp3lame); libx264 and NVENC have ``crf``, ``cq``
    and ``qp`` in `encoder_option` instead."""
    gop_size: int = -1
    """Most frames from a key frame to the next."""
    max_b_frames: int = -1
    """Most B frames in a row."""

    def _native(self) -> NativeCodecConfig:
        return NativeCodecConfig(self.bit_rate, self.compression_level, self.qscale, self.gop_size, self.max_b_frames)


def _exported(chunk: Any) -> Any:
    """A torch tensor that requires gradients exports nothing."""
    return chunk.detach() if hasattr(chunk, "detach") else chunk


class StreamWriter:
    """Encode audio and video streams chunk by chunk into a container.

    Add streams, then open, then write chunks, then leave the ``with`` block, or call `flush` and `close`:

        writer = StreamWriter("a.mp4")
        writer.add_video_stream(frame_rate=30, width=640, height=360)
        with writer.open():
            writer.write_video_chunk(0, frames)  # uint8 [time, 3, 360, 640]

    A file has its name, and replaces one that is there, when it is whole. An exception that leaves the block, a writer
    that is dropped open (ResourceWarning) and a process that ends leave the old file as it was.

    Chunks are numpy arrays, torch tensors, or anything that exports DLPack, the buffer protocol or, in a GPU's memory,
    ``__cuda_array_interface__``.

    Thread safety: calls from several threads take turns.
    """

    def __init__(self, dst: Any, format: str | None = None, buffer_size: int = 4096) -> None:
        """Choose where to write; nothing is opened yet.

        Args:
            dst: a path (str or os.PathLike), or an object with ``write(bytes) -> int`` and, for containers such as mp4,
                ``seek(offset, whence) -> int``.
            format: the container, as ``ffmpeg -f`` takes it; None takes the path's extension. File-like objects
                need it.
            buffer_size: taken for torchaudio's sake; bytes are handed over as they come.

        Raises:
            StreamArgumentError: for a container that is not known, both a ValueError and a RuntimeError.
            RefusedError: for URLs and containers that open files by themselves.
        """
        if buffer_size < 1:
            message = f"buffer_size must be positive, not {buffer_size}"
            raise StreamArgumentError(message)
        target: Any = os.fspath(dst) if isinstance(dst, os.PathLike) else dst
        if format is None and not isinstance(target, (str, bytes)):
            message = '`format` must be provided when the input is file-like object: format="mp4", for instance'
            raise StreamArgumentError(message)
        self._num_streams = 0
        self._devices: dict[int, str] = {}
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
        """Add a stream of audio. What the encoder does not take is resampled and remixed.

        Args:
            sample_rate: of the chunks, in Hz.
            num_channels: of the chunks.
            format: of the chunks: u8, s16, s32, s64, flt or dbl.
            encoder: FFmpeg's name; None is the container's choice.
            encoder_option: of the encoder; ``threads`` is "1" unless given.
            encoder_sample_rate: as it is encoded; None is that of the chunks, or the nearest that it takes.
            encoder_num_channels: as it is encoded; None likewise.
            encoder_format: as it is encoded; None is the first that the encoder takes.
            codec_config: bit rate and the like.
            filter_desc: applied first, as ``ffmpeg -af`` takes it.

        Raises:
            StreamArgumentError: naming what is not accepted, and what is.
            UnsupportedError: if the encoder cannot be had on this machine.
        """
        with argument_errors():
            self._native.add_audio_stream(
                sample_rate,
                num_channels,
                format,
                encoder or "",
                dict(encoder_option or {}),
                encoder_sample_rate or 0,
                encoder_num_channels or 0,
                encoder_format or "",
                (codec_config or CodecConfig())._native(),
                filter_desc or "",
            )
        self._num_streams += 1

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
        """Add a stream of video. What the encoder does not take is scaled and converted, but for frames of a GPU.

        Args:
            frame_rate: of the chunks, in frames per second; 30000 / 1001 and its like are met exactly.
            width: of the chunks, in pixels.
            height: of the chunks, in pixels.
            format: of the chunks: gray8, rgb24, bgr24, yuv444p, gbrp, rgb0, bgr0, rgba, ... as [time, channel, height,
                width]; yuv420p and nv12 as [time, 1, height * 3 / 2, width].
            encoder: FFmpeg's name; None is the container's choice.
            encoder_option: of the encoder; ``threads`` is "1" unless given.
            encoder_frame_rate: as it is encoded; None is that of the chunks.
            encoder_width: as it is encoded; None is that of the chunks.
            encoder_height: as it is encoded; None is that of the chunks.
            encoder_format: as it is encoded; None is the first that the encoder takes (yuv420p for libx264).
            codec_config: bit rate and the like.
            filter_desc: applied first, as ``ffmpeg -vf`` takes it.
            hw_accel: "cuda" or "cuda:N": chunks are in that GPU's memory, in yuv444p, nv12, gbrp, rgb0 or bgr0, and are
                encoded as they are.

        Raises:
            StreamArgumentError: naming what is not accepted, and what is.
            UnsupportedError: if the encoder cannot be had on this machine, with FFmpeg's reason.
            DeviceError: if the GPU of `hw_accel` cannot be had.
        """
        with argument_errors():
            self._native.add_video_stream(
                frame_rate,
                width,
                height,
                format,
                encoder or "",
                dict(encoder_option or {}),
                encoder_frame_rate or 0.0,
                encoder_width or 0,
                encoder_height or 0,
                encoder_format or "",
                (codec_config or CodecConfig())._native(),
                filter_desc or "",
                hw_accel or "",
            )
        if hw_accel:
            self._devices[self._num_streams] = hw_accel
        self._num_streams += 1

    def set_metadata(self, metadata: Mapping[str, str]) -> None:
        """Set the file's tags, in place of those set before. Before `open`.

        Args:
            metadata: ``{"title": ...}`` and what else the container has.
        """
        with argument_errors():
            self._native.set_metadata(dict(metadata))

    def open(self, option: Mapping[str, str] | None = None) -> Self:
        """Open the destination and write the header. A second time does nothing.

        Args:
            option: of the muxer, such as ``{"movflags": "frag_keyframe+empty_moov"}``.

        Returns:
            The writer, for ``with writer.open():``.

        Raises:
            StreamArgumentError: for unknown options, or if no stream was added.
            UnsupportedError: if the container does not hold a codec, or cannot be written without seeking.
            MediaIOError: if the destination cannot be written.
        """
        with argument_errors():
            self._native.open(dict(option or {}))
        return self

    def write_audio_chunk(self, i: int, chunk: Any, pts: float | None = None) -> None:
        """Encode samples.

        Args:
            i: number of the stream.
            chunk: [frame, channel], of the dtype of the stream's format.
            pts: time of the first sample in seconds; None follows the last chunk.

        Raises:
            StreamArgumentError: if the chunk is not what the stream was made for, or the output is not open.
        """
        with argument_errors():
            self._native.write_audio_chunk(i, _exported(chunk), pts)

    def write_video_chunk(self, i: int, chunk: Any, pts: float | None = None) -> None:
        """Encode pictures.

        Args:
            i: number of the stream.
            chunk: uint8 [time, channel, height, width], with any strides.
            pts: time of the first picture in seconds; None follows the last chunk.

        Raises:
            StreamArgumentError: if the chunk is not what the stream was made for, or the output is not open.
        """
        with argument_errors():
            self._native.write_video_chunk(i, _exported(chunk), pts)

    def flush(self) -> None:
        """Encode what filters and encoders hold back. Nothing can be written afterwards."""
        with argument_errors():
            self._native.flush()

    def close(self) -> None:
        """Write the trailer and close what `open` opened. A second time does nothing.

        A file has its name, and replaces one that is there, from now on.

        Raises:
            MediaIOError: if the trailer cannot be written; a file that was there is as it was.
        """
        self._native.close()

    def discard(self) -> None:
        """Let go of what `open` opened without finishing it: a file that was there is as it was."""
        self._native.discard()

    def __enter__(self) -> Self:
        """The writer, open."""
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Flushes and closes; after an exception it discards the output."""
        try:
            if exc is None:
                self.flush()
                self.close()
        finally:
            self.discard()  # nothing after close()
