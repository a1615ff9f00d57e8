# SPDX-License-Identifier: Apache-2.0
"""What decoders return: Frame, FrameBatch and AudioSamples."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from torch import Tensor


def _described(result: Any) -> str:
    """One line a field; of ``data`` only the shape."""
    lines = [f"{type(result).__name__}:"]
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        is_data = field.name == "data"
        lines.append(f"  data (shape): {value.shape}" if is_data else f"  {field.name}: {value}")
    return "\n".join(lines) + "\n"


@dataclasses.dataclass(repr=False)
class Frame:
    """One picture with its time. It can be unpacked into its three fields.

    Attributes:
        data: the picture, [C, H, W] or [H, W, C].
        pts_seconds: when it comes on screen.
        duration_seconds: how long it stays there.

    Raises:
        ValueError: if `data` does not have three axes.
    """

    data: Tensor
    pts_seconds: float
    duration_seconds: float

    def __post_init__(self) -> None:
        if self.data.ndim != 3:
            raise ValueError(f"data must be 3-dimensional; its shape is {tuple(self.data.shape)}")
        self.pts_seconds = float(self.pts_seconds)
        self.duration_seconds = float(self.duration_seconds)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.pts_seconds, self.duration_seconds))

    def __repr__(self) -> str:
        return _described(self)


@dataclasses.dataclass(repr=False)
class FrameBatch:
    """Several pictures with their times. Indexing and iteration give a FrameBatch again, also of one picture.

    Attributes:
        data: the pictures, [N, C, H, W] or [N, H, W, C]; samplers give [clips, frames, ...].
        pts_seconds: when they come on screen, float64 on the CPU, with the leading axes of `data`.
        duration_seconds: how long they stay there, the same.

    Raises:
        ValueError: if the leading axes of `data` are not those of the times.
    """

    data: Tensor
    pts_seconds: Tensor
    duration_seconds: Tensor

    def __post_init__(self) -> None:
        if self.data.ndim < 3:
            raise ValueError(f"data must be at least 3-dimensional; its shape is {tuple(self.data.shape)}")
        shapes = [tuple(self.data.shape[:-3]), tuple(self.pts_seconds.shape), tuple(self.duration_seconds.shape)]
        if len(set(shapes)) > 1:
            raise ValueError(
                f"the leading dimensions of the inputs do not match: data has {shapes[0]}, pts_seconds {shapes[1]} and "
                f"duration_seconds {shapes[2]}"
            )

    def __iter__(self) -> Iterator[FrameBatch]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> FrameBatch:
        return FrameBatch(self.data[key], self.pts_seconds[key], self.duration_seconds[key])

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return _described(self)


@dataclasses.dataclass(repr=False)
class AudioSamples:
    """Sound with its time. It can be unpacked into its four fields.

    Attributes:
        data: float32 samples, [channels, samples].
        pts_seconds: when the first one plays.
        duration_seconds: how long they play.
        sample_rate: in Hz.

    Raises:
        ValueError: if `data` does not have two axes.
    """

    data: Tensor
    pts_seconds: float
    duration_seconds: float
    sample_rate: int

    def __post_init__(self) -> None:
        if self.data.ndim != 2:
            raise ValueError(f"data must be 2-dimensional; its shape is {tuple(self.data.shape)}")
        self.pts_seconds = float(self.pts_seconds)
        self.sample_rate = int(self.sample_rate)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.pts_seconds, self.duration_seconds, self.sample_rate))

    def __repr__(self) -> str:
        return _described(self)


for _class in (Frame, FrameBatch, AudioSamples):
    _class.__module__ = "tricodec_compat.torchcodec"
