# SPDX-License-Identifier: Apache-2.0
"""decord.av_reader: frames with the sound that plays while they are on screen."""

from __future__ import annotations

from typing import Any

from tricodec_compat.decord.audio_reader import AudioReader
from tricodec_compat.decord.ndarray import DECORDContext, cpu
from tricodec_compat.decord.video_reader import VideoReader

__all__ = ["AVReader"]

_ON_CPU = cpu(0)


class AVReader:
    """Frames and their sound. Sample 0 plays at time 0.

    Args:
        uri: a path, or an object with ``read`` and ``seek``.
        ctx, width, height, num_threads, fault_tol: as in `VideoReader`.
        sample_rate: of the sound; -1 is the file's.
        mono: as in `AudioReader`.

    Raises:
        RuntimeError: if the file cannot be read.
        DECORDError: without video or without sound.
    """

    def __init__(
        self,
        uri: Any,
        ctx: DECORDContext = _ON_CPU,
        sample_rate: int = 44100,
        mono: bool = True,
        width: int = -1,
        height: int = -1,
        num_threads: int = 0,
        fault_tol: float = -1,
    ) -> None:
        self._audio = AudioReader(uri, ctx, sample_rate, mono)
        self._audio.add_padding()
        if hasattr(uri, "read"):
            uri.seek(0)
        self._video = VideoReader(uri, ctx, width, height, num_threads, fault_tol)

    def __len__(self) -> int:
        return len(self._video)

    def __getitem__(self, idx: Any) -> tuple[Any, Any]:
        """(sound [C, n], frame [H, W, 3]), or get_batch() of a slice.

        Raises:
            IndexError: past either end.
        """
        if isinstance(idx, slice):
            return self.get_batch(range(*idx.indices(len(self))))
        frame = self._video[idx]
        return self._sound(int(idx) % len(self)), frame

    def get_batch(self, indices: Any) -> tuple[list[Any], Any]:
        """(a list of the sound of each frame, frames [N, H, W, 3]). The sound of frames in a row has no gaps.

        Raises:
            IndexError: past either end.
        """
        numbers = [int(i) for i in self._video._validate_indices(indices)]
        sounds = []
        for before, number in zip([None, *numbers[:-1]], numbers, strict=True):
            sounds.append(self._sound(number, follows=before is not None and number == before + 1))
        return sounds, self._video.get_batch(numbers)

    def _sound(self, number: int, follows: bool = False) -> Any:
        times = self._video.get_frame_timestamp([number - 1, number] if follows else [number])
        start = times[0][1] if follows else times[0][0]
        begin, end = (self._audio._time_to_sample(float(time)) for time in (start, times[-1][1]))
        return self._audio[max(begin, 0) : max(end, 0)]


AVReader.__module__ = "tricodec_compat.decord"
