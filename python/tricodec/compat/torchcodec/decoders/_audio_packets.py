# SPDX-License-Identifier: Apache-2.0
"""torchcodec's AudioPacketDecoder, RawAudioSamples and AudioConverter."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tricodec import _tricodec
from tricodec._tricodec import StreamInfo
from tricodec.compat.torchcodec._results import AudioSamples
from tricodec.compat.torchcodec.decoders._packets import PacketDecoder, ProcessLocal


@dataclasses.dataclass
class RawAudioSamples:
    """Samples as the codec gives them; an `AudioPacketDecoder` makes them.

    Attributes:
        data: [channels, samples], contiguous, in the type that holds the codec's samples exactly: uint8, int16, int32,
            int64, float32 or float64. Whole numbers are not normalized.
        sample_rate: in Hz.
        pts_seconds: when the first one plays.
        duration_seconds: how long they play.
    """

    data: Tensor
    sample_rate: int
    pts_seconds: float
    duration_seconds: float
    _generation: int = dataclasses.field(default=0, repr=False)  # how often the demuxer has sought before

    @property
    def num_channels(self) -> int:
        """Rows of data."""
        return int(self.data.shape[0])

    @property
    def num_samples(self) -> int:
        """Samples of each channel."""
        return int(self.data.shape[1])


class AudioPacketDecoder(PacketDecoder[RawAudioSamples]):
    """The packets of one audio stream to samples; `AudioStream.make_decoder` makes it.

    After a seek the first samples of a lossy codec differ from those of reading on: its codec starts without the
    packets before. A packet that cannot be decoded is a RuntimeError, and the next one can be decoded.

    Thread safety: calls from several threads take turns.
    """

    _decoder: _tricodec.AudioDecoder
    _seconds: tuple[int, int]

    @classmethod
    def _of(cls, stream: StreamInfo) -> AudioPacketDecoder:
        decoder = cls._new(stream.index)
        base = stream.time_base
        decoder._seconds = (0, 1) if base is None else (base.numerator, base.denominator)
        decoder._decoder = _tricodec.AudioDecoder(stream)
        return decoder

    def _decode(self, packet: _tricodec.Packet) -> list[RawAudioSamples]:
        return self._raw(self._decoder.decode(packet))

    def _flush(self) -> list[RawAudioSamples]:
        return self._raw(self._decoder.flush())

    def _reset(self) -> None:
        self._decoder.reset()

    def _raw(self, given: Sequence[tuple[Any, int | None, int]]) -> list[RawAudioSamples]:
        num, den = self._seconds
        return [
            RawAudioSamples(
                torch.from_numpy(data), rate, (pts or 0) * num / den, data.shape[1] / rate, self._generation or 0
            )
            for data, pts, rate in given
        ]


class AudioConverter(ProcessLocal):
    """The raw samples of one stream to float32, resampled and mixed by libswresample.

    The filter remembers samples: each call gives those that are ready, and drain() the rest.

    Args:
        sample_rate: of the result, in Hz; None is the stream's.
        num_channels: of the result; None is the stream's.

    Raises:
        RuntimeError: for numbers that are not positive.

    Thread safety: one thread at a time.
    """

    _drained: bool
    _generation: int | None
    _first: tuple[float, int] | None  # the time of the first sample, and the rate of the result
    _num_given: int

    def __init__(self, sample_rate: int | None = None, num_channels: int | None = None) -> None:
        for name, value in (("sample_rate", sample_rate), ("num_channels", num_channels)):
            if value is not None and value <= 0:
                raise RuntimeError(f"{name} must be > 0, not {value}")
        self._converter = _tricodec.AudioConverter(sample_rate, num_channels)
        self._sample_rate = sample_rate
        self.reset()

    def convert(self, raw_samples: RawAudioSamples) -> AudioSamples:
        """Convert the next samples of the stream.

        Returns:
            `AudioSamples`: its time is that of the first sample of the stream plus the samples given since.

        Raises:
            RuntimeError: after drain(), after a seek without reset(), for samples of another type, rate or number of
                channels than before, and for a conversion that libswresample does not have.
        """
        if self._drained:
            raise RuntimeError("This AudioConverter has been drained; call reset() before it converts more")
        if self._generation not in (None, raw_samples._generation):
            raise RuntimeError(
                "The demuxer seeked since this converter was last reset(); call reset() of every converter after a seek"
            )
        data = self._call(lambda: self._converter.convert(raw_samples.data.numpy(), raw_samples.sample_rate))
        if self._first is None:
            self._first = (raw_samples.pts_seconds, self._sample_rate or raw_samples.sample_rate)
            self._generation = raw_samples._generation
        return self._samples(data, self._first)

    def drain(self) -> AudioSamples:
        """The samples that the filter still holds: none without a change of the rate.

        Raises:
            RuntimeError: before the first convert().
        """
        if self._first is None:
            raise RuntimeError("This AudioConverter hasn't converted any samples: there is nothing to drain")
        data = self._call(self._converter.drain)
        self._drained = True
        return self._samples(data, self._first)

    def reset(self) -> None:
        """Forget the stream: needed after `Demuxer.seek`, after drain(), and for another stream."""
        self._converter.reset()
        self._drained = False
        self._generation = None
        self._first = None
        self._num_given = 0

    @staticmethod
    def _call(work: Any) -> Any:
        try:
            return work()
        except ValueError as error:
            raise RuntimeError(str(error)) from error

    def _samples(self, data: Any, first: tuple[float, int]) -> AudioSamples:
        pts_seconds, rate = first
        start = pts_seconds + self._num_given / rate
        self._num_given += data.shape[1]
        return AudioSamples(torch.from_numpy(data), start, data.shape[1] / rate, rate)


for _class in (RawAudioSamples, AudioPacketDecoder, AudioConverter):
    _class.__module__ = "tricodec.compat.torchcodec.decoders"
