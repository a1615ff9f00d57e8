# SPDX-License-Identifier: Apache-2.0
"""Batches in the memory of a GPU, as tensors.

Note [Memory of batches on a GPU]: a batch is written by threads that wait for their frames, while the model's stream is
at work. If its memory were of that stream, the writes would wait for the model. So it is allocated on a stream of its
own, without work, and the consumer's stream is recorded: torch gives the memory out again after that stream has
passed the place where the tensor was dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from tricodec._dataset._clips import Dataset


class DeviceMemory:
    """Memory for the frames of batches on a GPU.

    Thread safety: one thread at a time.
    """

    def __init__(self, dataset: Dataset, device: str) -> None:
        self._dataset, self._device = dataset, device
        self._stream: Any = None

    def of(self, clips: Sequence[int]) -> Any:
        """An array with one element a clip; None if its shape is not known."""
        found = self._dataset._batch_shape(clips, self._device)
        if found is None or not torch.cuda.is_available():
            return None
        shape, dtype = found
        self._stream = self._stream or torch.cuda.Stream(self._device)
        with torch.cuda.stream(self._stream):
            of_torch = torch.from_numpy(np.empty(0, dtype)).dtype
            return _Frames(torch.empty(shape, dtype=of_torch, device=self._device))

    def put(self, memory: Any, place: int, frames: Any) -> None:
        """Copies the frames of a clip to their place, unless they are there."""
        to = memory.tensor[place]
        if isinstance(frames, _Frames):
            if frames.tensor.data_ptr() != to.data_ptr():
                to.copy_(frames.tensor)
        else:
            to.copy_(torch.from_numpy(frames) if isinstance(frames, np.ndarray) else torch.from_dlpack(frames))

    def with_tensors(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch for the stream that is current."""
        frames = batch["frames"]
        if isinstance(frames, _Frames):
            frames = frames.tensor
            if frames.is_cuda:
                frames.record_stream(torch.cuda.current_stream(self._device))
        elif isinstance(frames, list) and torch.cuda.is_available():
            frames = [each if isinstance(each, np.ndarray) else torch.from_dlpack(each) for each in frames]
        return {**batch, "frames": frames}


class _Frames:
    """A tensor as an array without a stream: a reader that writes there waits for no work of torch."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.shape = tuple(tensor.shape)
        if tensor.is_cuda:
            self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "version": 3, "stream": None}
        else:
            self.__array_interface__ = tensor.numpy().__array_interface__

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, place: int | slice) -> _Frames:
        return _Frames(self.tensor[place])
