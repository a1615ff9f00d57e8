# SPDX-License-Identifier: Apache-2.0
"""torchcodec's AudioDecoder and WavDecoder on the project's AudioReader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tricodec import AudioReader, UnsupportedError
from tricodec.video import StreamInfo

from tricodec_compat.torchcodec._metadata import AudioStreamMetadata, described_sound
from tricodec_compat.torchcodec._results import AudioSamples
from tricodec_compat.torchcodec._source import opened, probed


class AudioDecoder:
    """The sound of one stream as float32 tensors [channels, samples], resampled and mixed by libswresample.

    Args:
        source: as in `VideoDecoder`.
        stream_index: among all streams of the file; None is the best audio stream.
        sample_rate: of the result, in Hz; None is the stream's.
        num_channels: of the result; None is the stream's.

    Attributes:
        metadata: an AudioStreamMetadata, of the stream as it is in the file.
        stream_index: of the stream that is read.

    Raises:
        ValueError: for a stream that is no sound.
        TypeError: for a source of another kind.
        RuntimeError: if the source cannot be opened, or the rate or the channels cannot be had.

    Thread safety: calls from several threads take turns.
    """

    stream_index: int
    metadata: AudioStreamMetadata

    def __init__(
        self,
        source: Any,
        *,
        stream_index: int | None = None,
        sample_rate: int | None = None,
        num_channels: int | None = None,
    ) -> None:
        if num_channels is not None and num_channels <= 0:
            raise RuntimeError(f"num_channels must be > 0, not {num_channels}")
        self._reader: AudioReader = opened(source, lambda given: _open(given, stream_index, sample_rate, num_channels))
        stream = self._reader.stream
        self.stream_index = stream.index
        self.metadata = described_sound(self._reader.info, stream)

    def get_all_samples(self) -> AudioSamples:
        """All samples, from the first one on."""
        return self.get_samples_played_in_range()

    def get_samples_played_in_range(
        self, start_seconds: float = 0.0, stop_seconds: float | None = None
    ) -> AudioSamples:
        """The samples from start_seconds to before stop_seconds. Ranges that meet share none and leave none out.

        Args:
            start_seconds: before the first sample means the first one.
            stop_seconds: past the end means the end, and so does None.

        Raises:
            ValueError: if the start is after the stop.
            RuntimeError: if no sample plays in the range, or a packet of it is damaged.
        """
        if stop_seconds is not None and not start_seconds <= stop_seconds:
            raise ValueError(
                f"Invalid start seconds: {start_seconds}. It must be less than or equal to stop seconds "
                f"({stop_seconds})."
            )
        rate = self._reader.sample_rate
        if start_seconds == stop_seconds:
            nothing = torch.empty(self.metadata.num_channels or 0, 0)
            return AudioSamples(nothing, start_seconds, 0.0, rate)
        first = self._reader.start_seconds
        if stop_seconds is not None and stop_seconds <= first:
            raise RuntimeError(f"No audio frames were decoded: the sound begins at {first} s")

        try:
            samples = self._reader.read(start_s=max(start_seconds, first), end_s=stop_seconds)
        except IndexError as error:
            raise RuntimeError(f"No audio frames were decoded: {error}") from error
        except ValueError as error:
            raise RuntimeError(f"Couldn't initialize SwrContext: {error}") from error
        self._expect_no_damage(start_seconds, stop_seconds)
        data = torch.from_numpy(samples.data)
        if data.shape[1] == 0:
            raise RuntimeError(
                f"No audio frames were decoded: no sample plays from {start_seconds} to {stop_seconds} s"
            )
        begin = max(start_seconds, first)
        if samples.pts_seconds > begin + 1 / rate:  # packets are missing there
            begin = samples.pts_seconds
        return AudioSamples(data, begin, data.shape[1] / rate, rate)

    def _expect_no_damage(self, start_seconds: float, stop_seconds: float | None) -> None:
        """The reader continues after a packet that cannot be decoded; torchcodec does not."""
        if self._reader.num_damaged_packets == 0:
            return
        tick = self._reader.stream.time_base
        for issue in self._reader.issues:
            seconds = None if issue.pts is None or tick is None else float(issue.pts * tick)
            if seconds is None or (start_seconds <= seconds and (stop_seconds is None or seconds < stop_seconds)):
                raise RuntimeError(f"a packet cannot be decoded: {issue.message}")


def _open(source: Any, stream_index: int | None, sample_rate: int | None, num_channels: int | None) -> AudioReader:
    try:
        if stream_index is not None:
            _expect_sound(probed(source).streams, stream_index)
        return AudioReader(
            source, stream_index=-1 if stream_index is None else stream_index, sample_rate=sample_rate,
            num_channels=num_channels, seek_mode="approximate",
        )  # fmt: skip
    except UnsupportedError as error:
        if any(stream.kind == "audio" for stream in probed(source).streams):
            raise RuntimeError(f"Couldn't initialize SwrContext: {error}") from error
        raise ValueError(f"The best audio stream is unknown and there is no specified stream: {error}") from error
    except ValueError as error:
        if "not an audio stream" in str(error) or "not a valid stream" in str(error):
            raise
        raise RuntimeError(f"Couldn't initialize SwrContext: {error}") from error


def _expect_sound(streams: Sequence[StreamInfo], stream_index: int) -> None:
    if stream_index >= len(streams):
        raise ValueError(f"The stream at index {stream_index} is not a valid stream; the file has {len(streams)}")
    if stream_index >= 0 and streams[stream_index].kind != "audio":
        raise ValueError(
            f"The stream at index {stream_index} is not an audio stream; it holds {streams[stream_index].kind}"
        )


class WavDecoder:
    """The sound of a WAV file, as AudioDecoder gives it.

    Args:
        source: as in `VideoDecoder`.

    Attributes:
        metadata: an AudioStreamMetadata.
        stream_index: 0.

    Raises:
        RuntimeError: for a source that is no WAV file.
    """

    def __init__(self, source: Any) -> None:
        self._decoder = AudioDecoder(source)
        name = self._decoder._reader.info.format_name
        if "wav" not in name.split(","):
            raise RuntimeError(f"Missing RIFF header: the file is {name}, not WAV")
        self.stream_index = 0
        self.metadata = self._decoder.metadata

    def get_all_samples(self) -> AudioSamples:
        """All samples."""
        return self.get_samples_played_in_range()

    def get_samples_played_in_range(
        self, start_seconds: float = 0.0, stop_seconds: float | None = None
    ) -> AudioSamples:
        """The samples from start_seconds to before stop_seconds; see `AudioDecoder`. A negative start is 0.

        Raises:
            ValueError: if the start is after the stop.
            RuntimeError: if no sample plays in the range.
        """
        if stop_seconds is not None and not start_seconds <= stop_seconds:
            raise ValueError(
                f"Invalid start seconds: {start_seconds}. It must be less than or equal to stop seconds "
                f"({stop_seconds})."
            )
        try:
            return self._decoder.get_samples_played_in_range(max(start_seconds, 0.0), stop_seconds)
        except RuntimeError as error:
            raise RuntimeError(
                f"No samples to decode. This is probably because start_seconds is too high({start_seconds:g}): {error}"
            ) from error


for _class in (AudioDecoder, WavDecoder):
    _class.__module__ = "tricodec_compat.torchcodec.decoders"
