# SPDX-License-Identifier: Apache-2.0
"""torchcodec's encoders on the project's StreamWriter: RGB is converted by libswscale, as ffmpeg converts it."""

from __future__ import annotations

import io
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from tricodec.io import StreamWriter
from typing_extensions import Self

from tricodec_compat.torchcodec.encoders._options import add_audio, add_video, grows_in_place, refusals
from tricodec_compat.torchcodec.encoders._targets import expect_file_like

_NO_CONTAINER = "Couldn't allocate AVFormatContext."
_MOST_CHANNELS = 8


class _Stream:
    """A stream of an Encoder."""

    def __init__(self, encoder: Encoder, number: int, options: dict[str, Any]) -> None:
        self._encoder = encoder
        self._number = number
        self._options = options


class VideoStream(_Stream):
    """A stream of video, from `Encoder.add_video`."""

    def add_frames(self, frames: Tensor) -> None:
        """Encode frames.

        Args:
            frames: uint8 RGB, [N, 3, H, W], with any strides.

        Raises:
            RuntimeError: for frames of another size, type or device, or an encoder that is not open.
        """
        writer = self._encoder._writer_for(self)
        if frames.dtype != torch.uint8:
            raise RuntimeError(f"frames must have uint8 dtype, got {frames.dtype}")
        if frames.ndim != 4:
            raise RuntimeError(f"frames must have 4 dimensions (N, C, H, W), got {frames.ndim}")
        if frames.shape[1] != 3:
            raise RuntimeError(f"frame must have 3 channels (R, G, B), got {frames.shape[1]}")
        size = (self._options["height"], self._options["width"])
        if tuple(frames.shape[2:]) != size:
            raise RuntimeError(f"all frames must have the same dimensions, {size}, got {tuple(frames.shape[2:])}")
        if frames.device.type != self._options["device"]:
            raise RuntimeError(f"all frames must be on the same device, {self._options['device']}, not {frames.device}")
        with refusals("the frames cannot be encoded"):
            writer.write_video_chunk(self._number, frames)


class AudioStream(_Stream):
    """A stream of sound, from `Encoder.add_audio`."""

    def add_samples(self, samples: Tensor) -> None:
        """Encode samples.

        Args:
            samples: float32, [channels, samples].

        Raises:
            RuntimeError: for samples of another shape or type, or an encoder that is not open.
        """
        writer = self._encoder._writer_for(self)
        if samples.dtype != torch.float32:
            raise RuntimeError(f"samples must have float32 dtype, got {samples.dtype}")
        if samples.ndim != 2:
            raise RuntimeError(f"samples must have 2 dimensions (channels, samples), got {samples.ndim}")
        if samples.device.type != "cpu":
            raise RuntimeError(f"samples must be on CPU, got {samples.device.type}")
        channels = self._options["num_channels"]
        if samples.shape[0] != channels:
            raise RuntimeError(f"Expected {channels} channels, got {samples.shape[0]}")
        with refusals("the samples cannot be encoded"):
            writer.write_audio_chunk(self._number, samples.detach().t().contiguous())


class Encoder:
    """Encodes streams of video and sound into one file: add streams, open a file, add frames and samples, close.

    Thread safety: one thread at a time.
    """

    def __init__(self) -> None:
        self._streams: list[_Stream] = []
        self._writer: StreamWriter | None = None
        self._file: io.FileIO | None = None
        self._closed = False

    def add_video(
        self,
        *,
        height: int,
        width: int,
        frame_rate: float,
        device: str | torch.device | None = None,
        codec: str | None = None,
        pixel_format: str | None = None,
        crf: float | None = None,
        preset: str | int | None = None,
        extra_options: dict[str, Any] | None = None,
    ) -> VideoStream:
        """Add a stream of video, before the file is opened.

        Args:
            height: of the frames.
            width: of the frames.
            frame_rate: frames a second.
            device: where the frames are; None is torch's default device.
            codec: FFmpeg's name of an encoder or a codec; None is the container's.
            pixel_format: FFmpeg's name; None is the encoder's first.
            crf: constant quality; None is the encoder's default.
            preset: the encoder's option.
            extra_options: options of the encoder and of the container.

        Returns:
            The stream, with add_frames().

        Raises:
            RuntimeError: if the file is open, or the device cannot encode.
        """
        self._expect_not_open()
        kind = torch.device(torch.get_default_device() if device is None else device).type
        if kind != "cpu":
            raise RuntimeError(f"frames on {kind} are not encoded here; move them to the CPU")
        options = {
            "height": int(height), "width": int(width), "frame_rate": float(frame_rate), "device": kind, "codec": codec,
            "pixel_format": pixel_format, "crf": crf, "preset": preset, "extra": dict(extra_options or {}),
        }  # fmt: skip
        stream = VideoStream(self, len(self._streams), options)
        self._streams.append(stream)
        return stream

    def add_audio(
        self,
        *,
        sample_rate: int,
        num_channels: int,
        bit_rate: int | None = None,
        out_num_channels: int | None = None,
        out_sample_rate: int | None = None,
    ) -> AudioStream:
        """Add a stream of sound, before the file is opened.

        Args:
            sample_rate: of the samples, in Hz.
            num_channels: of the samples.
            bit_rate: of the stream, in bit/s; None is the encoder's default.
            out_num_channels: in the file; None is as many.
            out_sample_rate: in the file; None is the same.

        Returns:
            The stream, with add_samples().

        Raises:
            RuntimeError: if the file is open, or for values that no encoder has.
        """
        self._expect_not_open()
        if sample_rate <= 0:
            raise RuntimeError(f"sample_rate must be > 0, got {sample_rate}")
        if num_channels <= 0:
            raise RuntimeError(f"num_channels must be > 0, got {num_channels}")
        if num_channels > _MOST_CHANNELS:
            raise RuntimeError(
                f"Trying to encode {num_channels} channels, but FFmpeg only supports {_MOST_CHANNELS} channels"
            )
        options = {
            "sample_rate": int(sample_rate), "num_channels": int(num_channels), "bit_rate": bit_rate,
            "out_num_channels": out_num_channels, "out_sample_rate": out_sample_rate,
        }  # fmt: skip
        stream = AudioStream(self, len(self._streams), options)
        self._streams.append(stream)
        return stream

    def open_file(self, dest: str | Path) -> Self:
        """Open a file; its extension names the container.

        A fragmented mp4 (`movflags` with "frag") grows in place and can be read meanwhile. Any other file gets its
        name when it is complete.

        Raises:
            RuntimeError: without a stream, a second time, or if FFmpeg refuses.
        """
        self._expect_openable()
        format = grows_in_place(dest, [stream._options for stream in self._streams])
        with refusals(f"The destination file is {dest}, make sure it's a valid path?", "avio_open failed."):
            target = str(dest) if format is None else io.FileIO(dest, "wb")
        if isinstance(target, io.FileIO):
            self._file = target
        with refusals(f"The destination file is {dest}, check the desired extension?", _NO_CONTAINER):
            writer = StreamWriter(target, format)
        return self._open(writer, f"The destination file is {dest}, make sure it's a valid path?")

    def open_file_like(self, dest: Any, *, format: str) -> Self:
        """Open an object with ``write`` and ``seek``.

        Raises:
            RuntimeError: as open_file(), and for objects without these methods.
        """
        expect_file_like(dest)
        self._expect_openable()
        with refusals(f"Check the desired format? Got format={format}", _NO_CONTAINER):
            writer = StreamWriter(dest, format)
        return self._open(writer, "the file cannot be written")

    def _open(self, writer: StreamWriter, hint: str) -> Self:
        muxer_options: dict[str, str] = {}
        with refusals():
            for stream in self._streams:
                if isinstance(stream, VideoStream):
                    muxer_options |= add_video(writer, stream._options)
                else:
                    add_audio(writer, stream._options)
        with refusals(hint, "avio_open failed."):
            writer.open(muxer_options)
        self._writer = writer
        return self

    def close(self) -> None:
        """Finish the file. A second time does nothing.

        Raises:
            RuntimeError: if the file cannot be written.
        """
        writer, self._writer, self._closed = self._writer, None, True
        if writer is None:
            self._close_file()
            return
        with refusals("the file cannot be finished"):
            try:
                writer.flush()
                writer.close()
            finally:
                self._discard(writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc is not None and self._writer is not None:
            self._discard(self._writer)
            self._writer, self._closed = None, True
        self.close()

    def _discard(self, writer: StreamWriter) -> None:
        writer.discard()
        self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()

    def _expect_not_open(self) -> None:
        if self._closed:
            raise RuntimeError("Cannot open after close(), nor add streams: make a new Encoder")
        if self._writer is not None:
            raise RuntimeError("open() was already called: streams are added before it, and a file is opened once")

    def _expect_openable(self) -> None:
        self._expect_not_open()
        if not self._streams:
            raise RuntimeError("Call addVideoStream() or addAudioStream() before open(): there is no stream")

    def _writer_for(self, stream: _Stream) -> StreamWriter:
        video = isinstance(stream, VideoStream)
        if self._closed:
            raise RuntimeError(f"Cannot add {'frames' if video else 'samples'} after close()")
        if self._writer is None:
            raise RuntimeError(f"Call open() before {'addFrames' if video else 'addSamples'}()")
        return self._writer


for _class in (Encoder, VideoStream, AudioStream):
    _class.__module__ = "tricodec_compat.torchcodec.encoders"
