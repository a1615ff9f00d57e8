# SPDX-License-Identifier: Apache-2.0
"""torchcodec's VideoEncoder and AudioEncoder: one batch, encoded by an Encoder."""

from __future__ import annotations

import abc
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tricodec_compat.torchcodec.encoders._encoder import Encoder
from tricodec_compat.torchcodec.encoders._targets import as_tensor


class _BatchEncoder(abc.ABC):
    @abc.abstractmethod
    def _encoder(self, *_: Any, **options: Any) -> tuple[Encoder, Callable[[], None]]:
        """An encoder with one stream, and what adds the batch to it."""

    def to_file(self, dest: str | Path, **options: Any) -> None:
        """Encode to a file; its extension names the container.

        Args:
            dest: the path.
            options: those of the class.

        Raises:
            RuntimeError: if FFmpeg refuses.
        """
        encoder, add = self._encoder(**options)
        with encoder.open_file(dest):
            add()

    def to_tensor(self, format: str, **options: Any) -> Tensor:
        """Encode to a uint8 tensor of one axis; see to_file()."""
        file = io.BytesIO()
        self.to_file_like(file, format, **options)
        return as_tensor(file.getbuffer())

    def to_file_like(self, file_like: Any, format: str, **options: Any) -> None:
        """Encode to an object with ``write`` and ``seek``; see to_file()."""
        encoder, add = self._encoder(**options)
        with encoder.open_file_like(file_like, format=format):
            add()


class VideoEncoder(_BatchEncoder):
    """Encodes one batch of frames. The methods take the options codec, pixel_format, crf, preset and extra_options.

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
            raise ValueError(f"Expected 4D frames, got frames.shape = {frames.shape}.")
        if frames.dtype != torch.uint8:
            raise ValueError(f"Expected uint8 frames, got frames.dtype = {frames.dtype}.")
        if frame_rate <= 0:
            raise ValueError(f"frame_rate = {frame_rate} must be > 0.")
        self._frames = frames
        self._frame_rate = frame_rate

    def _encoder(self, **options: Any) -> tuple[Encoder, Callable[[], None]]:
        encoder = Encoder()
        height, width = self._frames.shape[2:]
        stream = encoder.add_video(
            height=height, width=width, frame_rate=self._frame_rate, device=self._frames.device, **options
        )
        return encoder, lambda: stream.add_frames(self._frames)


class AudioEncoder(_BatchEncoder):
    """Encodes one array of samples. The methods take bit_rate, num_channels and sample_rate, those of the file.

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
            raise ValueError(f"Expected 1D or 2D samples, got samples.shape = {samples.shape}.")
        if samples.dtype != torch.float32:
            raise ValueError(f"Expected float32 samples, got samples.dtype = {samples.dtype}.")
        if sample_rate <= 0:
            raise ValueError(f"sample_rate = {sample_rate} must be > 0.")
        self._samples = samples
        self._sample_rate = sample_rate

    def _encoder(
        self, *, bit_rate: int | None = None, num_channels: int | None = None, sample_rate: int | None = None
    ) -> tuple[Encoder, Callable[[], None]]:
        encoder = Encoder()
        stream = encoder.add_audio(
            sample_rate=self._sample_rate, num_channels=len(self._samples), bit_rate=bit_rate,
            out_num_channels=num_channels, out_sample_rate=sample_rate,
        )  # fmt: skip
        return encoder, lambda: stream.add_samples(self._samples)


for _class in (VideoEncoder, AudioEncoder):
    _class.__module__ = "tricodec_compat.torchcodec.encoders"
