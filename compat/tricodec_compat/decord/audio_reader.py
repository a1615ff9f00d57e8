# SPDX-License-Identifier: Apache-2.0
"""decord.audio_reader: decord's AudioReader, all samples in memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from tricodec import AudioReader as _Reader
from tricodec import Error, UnsupportedError

from tricodec_compat.decord.base import DECORDError
from tricodec_compat.decord.bridge import bridge_out
from tricodec_compat.decord.ndarray import DECORDContext, NDArray, cpu
from tricodec_compat.decord.video_reader import source_of

__all__ = ["AudioReader"]

_ON_CPU = cpu(0)


class AudioReader:
    """The samples of a file, float32 [channels, samples], decoded at once. They are resampled without seams.

    Args:
        uri: a path, or an object with ``read``, which is read to its end.
        ctx: a context; sound is decoded on the CPU.
        sample_rate: of the result; -1 is the file's.
        mono: mix the channels to one, as libswresample does.

    Raises:
        RuntimeError: if the file cannot be read.
        DECORDError: without sound.
        AssertionError: for a `ctx` that is no context.
    """

    def __init__(self, uri: Any, ctx: DECORDContext = _ON_CPU, sample_rate: int = -1, mono: bool = True) -> None:
        assert isinstance(ctx, DECORDContext), f"ctx must be decord.cpu() or decord.gpu(), not {ctx!r}"
        source = source_of(uri)
        name = uri if isinstance(uri, str) else f"{len(source)} bytes"
        try:
            reader = _Reader(
                source, sample_rate=sample_rate if sample_rate > 0 else None, num_channels=1 if mono else None
            )
            self._array = reader.read().data
        except UnsupportedError as error:
            raise DECORDError(f"cannot find an audio stream in {name}: {error}") from error
        except (Error, ValueError) as error:
            raise RuntimeError(f"Error reading {name}...: {error}") from error
        self.sample_rate = sample_rate
        self._rate = reader.sample_rate
        self._stream = reader.stream
        self._duration: int = self._array.shape[1] // self._rate
        self._padding = max(math.ceil(reader.start_seconds * self._rate), 0)

    def __len__(self) -> int:
        """Channels."""
        return self.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """(channels, samples), without padding."""
        return self._array.shape[0], self._array.shape[1]

    def __getitem__(self, idx: Any) -> Any:
        """One sample of each channel [C], or those of a slice [C, n].

        Raises:
            IndexError: past either end.
        """
        if isinstance(idx, slice):
            return bridge_out(NDArray(np.ascontiguousarray(self._array[:, idx])))
        count = self.shape[1]
        place = idx + count if idx < 0 else idx
        if not 0 <= place < count:
            raise IndexError(f"Index: {place} out of bound: {count}")
        return bridge_out(NDArray(self._array[:, place].copy()))

    def get_batch(self, indices: Any) -> Any:
        """Samples by number, [C, n]; negative numbers count from the end.

        Raises:
            IndexError: past either end.
        """
        return bridge_out(NDArray(self._array[:, self._validate_indices(indices)]))

    def _validate_indices(self, indices: Any) -> npt.NDArray[np.int64]:
        found = np.array(indices, dtype=np.int64)
        count = self.shape[1]
        found[found < 0] += count
        if (found < 0).any():
            raise IndexError(f"Invalid negative indices: {found[found < 0] - count}")
        if (found >= count).any():
            raise IndexError(f"Out of bound indices: {found[found >= count]}")
        return found

    def duration(self) -> int:
        """Whole seconds."""
        return self._duration

    def add_padding(self) -> int:
        """Put silence before the first sample, so that sample 0 plays at time 0. Returns the number of samples."""
        padding, self._padding = self._padding, 0
        self._array = np.pad(self._array, ((0, 0), (padding, 0)))
        return padding

    def get_info(self) -> None:
        """Print what the stream is."""
        print(
            f"audio stream {self._stream.index}: {self._stream.codec_name}, {self._stream.sample_rate} Hz, "
            f"{self._stream.num_channels} channels"
        )

    def _time_to_sample(self, timestamp: float) -> int:
        return math.ceil(float(np.float32(timestamp) * np.float32(self._rate)))  # as decord rounds


AudioReader.__module__ = "tricodec_compat.decord"
