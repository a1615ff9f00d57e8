# SPDX-License-Identifier: Apache-2.0
"""torchcodec's FrameIndex: what the packets of a video stream say of its frames."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import torch
from torch import Tensor


class FramePacket(NamedTuple):
    """A packet of a frame that is shown, in units of its stream's time base."""

    pts: int
    duration: int
    key: bool


class FrameIndex:
    """The frames of a video stream in the order of presentation, as `VideoStream.scan` finds them in the packets.

    Attributes:
        is_key_frame: bool, one element a frame.
        pts_seconds: float64, when each frame comes on screen.
        duration_seconds: float64, how long each stays there, as its packet states it.
        key_frame_indices: int64, the numbers of the key frames.

    Thread safety: it does not change.
    """

    is_key_frame: Tensor
    pts_seconds: Tensor
    duration_seconds: Tensor
    key_frame_indices: Tensor

    def __init__(self, packets: Sequence[FramePacket], time_base: Fraction) -> None:
        ordered = sorted(packets, key=lambda packet: packet.pts)
        pts = torch.tensor([packet.pts for packet in ordered], dtype=torch.int64)
        duration = torch.tensor([packet.duration for packet in ordered], dtype=torch.int64)

        def seconds(ticks: Tensor) -> Tensor:
            # The product first, as VideoDecoder reckons, so that both give the same double.
            return ticks.to(torch.float64) * time_base.numerator / time_base.denominator

        self.is_key_frame = torch.tensor([packet.key for packet in ordered], dtype=torch.bool)
        self.pts_seconds = seconds(pts)
        self.duration_seconds = seconds(duration)
        self.key_frame_indices = self.is_key_frame.nonzero().reshape(-1)
        ends = seconds(pts + duration)
        self._ends = ends.cummax(0).values if len(ends) else ends  # a long frame may end after the next one

    def __len__(self) -> int:
        return len(self.is_key_frame)

    @property
    def num_frames_from_content(self) -> int:
        """Frames of the stream."""
        return len(self)

    @property
    def begin_stream_seconds_from_content(self) -> float:
        """When the first frame comes on screen."""
        return float(self.pts_seconds[0])

    @property
    def end_stream_seconds_from_content(self) -> float:
        """When the frame that stays longest leaves it."""
        return float(self._ends[-1])

    @property
    def average_fps_from_content(self) -> float:
        """Frames a second from start to end."""
        return len(self) / (self.end_stream_seconds_from_content - self.begin_stream_seconds_from_content)

    def index_at(self, seconds: float | Tensor) -> int | Tensor:
        """The number of the frame on screen at a time: the first one that has not ended.

        Args:
            seconds: a time, or a tensor of times. Outside the stream they give its first or last frame.

        Returns:
            An int, or an int64 tensor of the same shape.
        """
        times = torch.as_tensor(seconds, dtype=torch.float64)
        found = torch.searchsorted(self._ends, times, right=True).clamp(max=len(self) - 1)
        return found if isinstance(seconds, Tensor) else int(found)

    def key_frame_seconds_for(self, seconds: float) -> float:
        """The time of the last key frame at or before a time; the start of the stream if there is none."""
        keys = self.pts_seconds[self.key_frame_indices]
        before = keys[keys <= seconds]
        return float(before[-1] if len(before) else self.pts_seconds[0])


FrameIndex.__module__ = "tricodec_compat.torchcodec.decoders"
