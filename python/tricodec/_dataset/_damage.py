# SPDX-License-Identifier: Apache-2.0
"""Which frames of a damaged video are whole."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import FrameReader

OnDamage = Literal["raise", "skip", "pad"]
ON_DAMAGE: tuple[OnDamage, ...] = ("raise", "skip", "pad")
#: Frames of one video are further apart.
_SAME_SECONDS = 1e-6
#: Frames that are decoded after a frame and shown before it, at most: of H.264 and HEVC.
_MOST_REORDERED = 16


@dataclasses.dataclass(frozen=True)
class DamagedClip:
    """A clip that cannot be given whole."""

    clip: int
    """Its number."""
    video: int
    """The row of its video in the index."""
    path: str
    """The video, as the index has it."""
    message: str
    """What is wrong."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """The frames of a video as its index has them, before damage is known."""

    times: npt.NDArray[np.float64]
    """Of all frames, in seconds."""
    gops: npt.NDArray[np.int64]
    """As `FrameReader._gops` gives them."""
    num_damaged_packets: int
    """What the index knows."""

    @staticmethod
    def of(reader: FrameReader) -> Expected:
        """Of a reader that has read nothing."""
        return Expected(reader.pts_seconds, reader._gops(), reader.num_damaged_packets)

    def holds(self, reader: FrameReader) -> bool:
        """Whether a reader has met nothing else so far."""
        return reader.num_damaged_packets == self.num_damaged_packets and len(reader) == len(self.times)

    def find(
        self, reader: FrameReader, numbers: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Where the expected frames are, int64, and which of them are there and whole, bool.

        Args:
            reader: has read these frames, and has numbered the frames again if there was damage.
            numbers: of the expected frames.
        """
        times, known = self.times[numbers], reader.pts_seconds
        if len(known) == 0:
            return np.zeros(len(times), np.int64), np.zeros(len(times), bool)
        places = np.minimum(np.searchsorted(known, times - _SAME_SECONDS), len(known) - 1)
        is_there = np.abs(known[places] - times) <= _SAME_SECONDS
        return places, is_there & ~self._damaged(reader, times)

    def _damaged(self, reader: FrameReader, times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Which times are in a group of pictures after a damaged packet in it, in decoding order."""
        firsts, past = self.gops[:, 0], np.cumsum(self.gops[:, 1])  # past: the packets before the next group
        ends = np.append(self.times[firsts[1:]], np.inf)
        damaged = np.zeros(len(times), bool)
        for issue in reader.issues:
            if issue.packet_number >= past[-1]:  # the end of a file that is cut: the frames after it are not there
                continue
            gop = int(np.searchsorted(past, issue.packet_number, "right"))
            first = int(firsts[gop])
            if not self.gops[gop, 4]:  # pictures of an open group are shown before its key frame
                first = max(first, issue.packet_number - _MOST_REORDERED)
            else:
                first = max(first - _MOST_REORDERED, 0)
            if reader.stream.interlaced:  # a packet may be a field
                return np.ones(len(times), bool)
            damaged |= (times >= self.times[first] - _SAME_SECONDS) & (times < ends[gop] - _SAME_SECONDS)
        return damaged
