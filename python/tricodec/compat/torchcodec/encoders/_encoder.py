# SPDX-License-Identifier: Apache-2.0
"""torchcodec's encoders on the project's StreamWriter: RGB is converted by libswscale, as ffmpeg converts it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Self

from tricodec._tricodec import encoder_for
from tricodec.errors import Error
from tricodec.io import CodecConfig, StreamWriter
from tricodec.io.ffmpeg_utils import get_video_encoders

_MUXER_OPTIONS = ("movflags", "fflags", "frag_duration", "frag_size", "min_frag_duration")


@contextlib.contextmanager
def _as_runtime_error(hint: str) -> Iterator[None]:
    """torchcodec raises RuntimeError for all that FFmpeg refuses."""
    try:
        yield
    except (ValueError, Error) as error:
        raise RuntimeError(f"{error}; {hint}") from error


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
            raise RuntimeError(f"frames must be uint8, not {frames.dtype}")
        if frames.ndim != 4 or frames.shape[1] != 3:
            raise RuntimeError(f"frame must have 3 channels (N, C, H, W), got {tuple(frames.shape)}")
        size = (self._options["height"], self._options["width"])
        if tuple(frames.shape[2:]) != size:
            raise RuntimeError(f"all frames must have the same dimensions, {size}, got {tuple(frames.shape[2:])}")
        if frames.device.type != self._options["device"]:
            raise RuntimeError(f"all frames must be on the same device, {self._options['device']}, not {frames.device}")
        with _as_runtime_error("the frames cannot be encoded"):
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
            raise RuntimeError(f"samples must be float32, not {samples.dtype}")
        channels = self._options["num_channels"]
        if samples.ndim != 2 or samples.shape[0] != channels:
            raise RuntimeError(f"samples must be [{channels}, n], got {tuple(samples.shape)}")
        with _as_runtime_error("the samples cannot be encoded"):
            writer.write_audio_chunk(self._number, samples.detach().cpu().t().contiguous())


class Encoder:
    """Encodes streams of video and sound into one file: add streams, open a file, add frames and samples, close.

    Thread safety: one thread at a time.
    """

    def __init__(self) -> None:
        self._streams: list[_Stream] = []
        self._writer: StreamWriter | None = None
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
        if bit_rate is not None and bit_rate < 0:
            raise RuntimeError(f"bit_rate={bit_rate} must be >= 0")
        most = 8
        for channels in (num_channels, out_num_channels):
            if channels is not None and not 1 <= channels <= most:
                raise RuntimeError(
                    f"Trying to encode {channels} channels, but FFmpeg only supports {most} channels per frame"
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

        Raises:
            RuntimeError: without a stream, a second time, or if FFmpeg refuses.
        """
        with _as_runtime_error("check the desired extension, and make sure it's a valid path"):
            return self._open(str(dest), None)

    def open_file_like(self, dest: Any, *, format: str) -> Self:
        """Open an object with ``write`` and ``seek``.

        Raises:
            RuntimeError: as open_file(), and for objects without these methods.
        """
        for method in ("write", "seek"):
            if not hasattr(dest, method):
                article = "a write" if method == "write" else "a seek"
                raise RuntimeError(f"the file-like object must implement {article} method")
        with _as_runtime_error("Check the desired format"):
            return self._open(dest, format)

    def _open(self, dest: Any, format: str | None) -> Self:
        if not self._streams:
            raise RuntimeError("Call add_video() or add_audio() before open: there is no stream")
        self._expect_not_open()
        writer = StreamWriter(dest, format)
        muxer_options: dict[str, str] = {}
        for stream in self._streams:
            if isinstance(stream, VideoStream):
                muxer_options |= _add_video(writer, stream._options)
            else:
                _add_audio(writer, stream._options)
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
            return
        with _as_runtime_error("the file cannot be finished"):
            try:
                writer.flush()
                writer.close()
            finally:
                writer.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc is not None and self._writer is not None:
            self._writer.discard()
            self._writer, self._closed = None, True
        self.close()

    def _expect_not_open(self) -> None:
        if self._writer is not None or self._closed:
            raise RuntimeError(
                "the encoder was opened before: streams are added before open, and a file is opened once"
            )

    def _writer_for(self, stream: _Stream) -> StreamWriter:
        if self._closed:
            raise RuntimeError("the encoder is closed")
        if self._writer is None:
            name = "addFrames" if isinstance(stream, VideoStream) else "addSamples"
            raise RuntimeError(f"Call open() before {name}()")
        return self._writer


def _add_video(writer: StreamWriter, options: dict[str, Any]) -> dict[str, str]:
    """Returns the options that are the container's."""
    encoder_options = {name: str(value) for name, value in options["extra"].items() if name not in _MUXER_OPTIONS}
    if options["crf"] is not None:
        encoder_options["crf"] = str(options["crf"])
    if options["preset"] is not None:
        encoder_options["preset"] = str(options["preset"])
    pixel_format = options["pixel_format"]
    try:
        writer.add_video_stream(
            options["frame_rate"], options["width"], options["height"], "rgb24",
            encoder=_encoder_name(options["codec"]), encoder_option=encoder_options, encoder_format=pixel_format,
        )  # fmt: skip
    except ValueError as error:
        if pixel_format is None:
            raise
        message = f"Unknown pixel format '{pixel_format}', or one that is not supported by the encoder: {error}"
        raise RuntimeError(message) from error
    return {name: str(value) for name, value in options["extra"].items() if name in _MUXER_OPTIONS}


def _encoder_name(codec: str | None) -> str | None:
    """The encoder of this name, or the one for the codec of this name."""
    if codec is None or codec in get_video_encoders():
        return codec
    known = {"vp8": "libvpx", "vp9": "libvpx-vp9", "theora": "libtheora"}
    try:
        return known.get(codec) or encoder_for(codec, "cpu")
    except (ValueError, Error) as error:
        raise RuntimeError(f"Video codec {codec} not found: {error}") from error


def _add_audio(writer: StreamWriter, options: dict[str, Any]) -> None:
    bit_rate = options["bit_rate"]
    writer.add_audio_stream(
        options["sample_rate"], options["num_channels"], "flt", encoder_sample_rate=options["out_sample_rate"],
        encoder_num_channels=options["out_num_channels"],
        codec_config=None if bit_rate is None else CodecConfig(bit_rate=bit_rate),
    )  # fmt: skip


class VideoEncoder:
    """Encodes one batch of frames.

    Args:
        frames: uint8 RGB, [N, 3, H, W].
        frame_rate: frames a second.

    Raises:
        ValueError: for what is no such tensor, or a rate that is not positive.
    """

    def __init__(self, frames: Tensor, *, frame_rate: float) -> None:
        if not isinstance(frames, Tensor):
            raise ValueError(f"Expected frames to be a Tensor, got {type(frames)}.")
        if frames.ndim != 4:
            raise ValueError(f"Expected 4D frames, got {tuple(frames.shape)}.")
        if frames.dtype != torch.uint8:
            raise ValueError(f"Expected uint8 frames, got {frames.dtype}.")
        if frame_rate <= 0:
            raise ValueError(f"frame_rate = {frame_rate} must be > 0.")
        self._frames = frames
        self._frame_rate = frame_rate

    def _encoder(self, options: dict[str, Any]) -> tuple[Encoder, VideoStream]:
        encoder = Encoder()
        height, width = self._frames.shape[2:]
        stream = encoder.add_video(
            height=height, width=width, frame_rate=self._frame_rate, device=self._frames.device, **options
        )
        return encoder, stream

    def to_file(self, dest: str | Path, **options: Any) -> None:
        """Encode to a file; its extension names the container.

        Args:
            dest: the path.
            options: codec, pixel_format, crf, preset, extra_options, as `Encoder.add_video` takes them.

        Raises:
            RuntimeError: if FFmpeg refuses.
        """
        encoder, stream = self._encoder(options)
        with encoder.open_file(dest):
            stream.add_frames(self._frames)

    def to_tensor(self, format: str, **options: Any) -> Tensor:
        """Encode to a uint8 tensor of one axis; see to_file()."""
        file = io.BytesIO()
        self.to_file_like(file, format, **options)
        return _as_tensor(file)

    def to_file_like(self, file_like: Any, format: str, **options: Any) -> None:
        """Encode to an object with ``write`` and ``seek``; see to_file()."""
        encoder, stream = self._encoder(options)
        with encoder.open_file_like(file_like, format=format):
            stream.add_frames(self._frames)


class AudioEncoder:
    """Encodes one array of samples.

    Args:
        samples: float32, [channels, samples], or [samples] for one channel.
        sample_rate: in Hz.

    Raises:
        ValueError: for what is no such tensor, or a rate that is not positive.
    """

    def __init__(self, samples: Tensor, *, sample_rate: int) -> None:
        if not isinstance(samples, Tensor):
            raise ValueError(f"Expected samples to be a Tensor, got {type(samples)}.")
        samples = samples[None, :] if samples.ndim == 1 else samples
        if samples.ndim != 2:
            raise ValueError(f"Expected 1D or 2D samples, got {tuple(samples.shape)}.")
        if samples.dtype != torch.float32:
            raise ValueError(f"Expected float32 samples, got {samples.dtype}.")
        if sample_rate <= 0:
            raise ValueError(f"sample_rate = {sample_rate} must be > 0.")
        self._samples = samples
        self._sample_rate = sample_rate

    def _encoder(
        self, bit_rate: int | None, num_channels: int | None, sample_rate: int | None
    ) -> tuple[Encoder, AudioStream]:
        encoder = Encoder()
        stream = encoder.add_audio(
            sample_rate=self._sample_rate, num_channels=len(self._samples), bit_rate=bit_rate,
            out_num_channels=num_channels, out_sample_rate=sample_rate,
        )  # fmt: skip
        return encoder, stream

    def to_file(
        self,
        dest: str | Path,
        *,
        bit_rate: int | None = None,
        num_channels: int | None = None,
        sample_rate: int | None = None,
    ) -> None:
        """Encode to a file; its extension names the container.

        Args:
            dest: the path.
            bit_rate: in bit/s; None is the encoder's default.
            num_channels: in the file; None is as many.
            sample_rate: in the file; None is the same.

        Raises:
            RuntimeError: if FFmpeg refuses.
        """
        encoder, stream = self._encoder(bit_rate, num_channels, sample_rate)
        with encoder.open_file(dest):
            stream.add_samples(self._samples)

    def to_tensor(
        self,
        format: str,
        *,
        bit_rate: int | None = None,
        num_channels: int | None = None,
        sample_rate: int | None = None,
    ) -> Tensor:
        """Encode to a uint8 tensor of one axis; see to_file()."""
        file = io.BytesIO()
        self.to_file_like(file, format, bit_rate=bit_rate, num_channels=num_channels, sample_rate=sample_rate)
        return _as_tensor(file)

    def to_file_like(
        self,
        file_like: Any,
        format: str,
        *,
        bit_rate: int | None = None,
        num_channels: int | None = None,
        sample_rate: int | None = None,
    ) -> None:
        """Encode to an object with ``write`` and ``seek``; see to_file()."""
        encoder, stream = self._encoder(bit_rate, num_channels, sample_rate)
        with encoder.open_file_like(file_like, format=format):
            stream.add_samples(self._samples)


def _as_tensor(file: io.BytesIO) -> Tensor:
    return torch.from_numpy(np.frombuffer(bytearray(file.getbuffer()), np.uint8))


for _class in (Encoder, VideoStream, AudioStream, VideoEncoder, AudioEncoder):
    _class.__module__ = "tricodec.compat.torchcodec.encoders"
