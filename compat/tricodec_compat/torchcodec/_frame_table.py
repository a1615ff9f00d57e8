# SPDX-License-Identifier: Apache-2.0
"""Which frame is on screen when."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from tricodec import FrameReader

Times = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class FrameTable:
    """The times of a stream's frames in presentation order.

    Frame i is on screen from its time to the time of frame i + 1. The stream ends where the last frame ends.

    Attributes:
        pts: in seconds, float64.
        durations: in seconds, as the packets state them, float64.
        ends: pts plus duration, summed up before the rounding to seconds.
        numbers: of the frames in the reader, int64.
        begin, end: of the stream, in seconds; both 0 without frames.
    """

    def __init__(self, pts: Times, durations: Times, ends: Times, numbers: Numbers) -> None:
        self.pts = pts
        self.durations = durations
        self.ends = ends
        self.numbers = numbers
        self.begin = float(pts.min()) if len(pts) else 0.0
        self.end = float(ends.max()) if len(pts) else 0.0

    def __len__(self) -> int:
        return len(self.pts)

    @classmethod
    def of(cls, reader: FrameReader) -> FrameTable:
        """The frames of a reader, without decoding if the packets tell."""
        pts, durations = reader.frame_times()
        seconds = reader.pts_seconds
        time_base = reader.stream.time_base
        num, den = (0, 1) if time_base is None else (time_base.numerator, time_base.denominator)
        shown = durations * num / den
        known = bool((pts != np.iinfo(np.int64).min).all())  # else the reader counts at the frame rate
        ends = (pts + durations) * num / den if known else seconds + shown
        order = np.argsort(seconds, kind="stable")  # torchcodec numbers frames by their times
        return cls(seconds[order], shown[order], ends[order], order)

    @classmethod
    def from_mappings(cls, mappings: Any, reader: FrameReader) -> FrameTable:
        """The frames that a user lists, as ffprobe prints them; those of the reader with these times.

        Raises:
            ValueError: for JSON that cannot be read, or that has not the keys.
        """
        pts, durations = _parsed(mappings)
        order = np.argsort(pts, kind="stable")
        pts, durations = pts[order], durations[order]
        time_base = reader.stream.time_base
        num, den = (1, 1) if time_base is None else (time_base.numerator, time_base.denominator)
        known, _ = reader.frame_times()
        numbers = np.clip(np.searchsorted(known, pts, side="right") - 1, 0, max(len(known) - 1, 0))
        return cls(pts * num / den, durations * num / den, (pts + durations) * num / den, numbers)

    def shown_at(self, seconds: npt.ArrayLike) -> Numbers:
        """The positions of the frames on screen at these times, which lie between begin and end."""
        found = np.searchsorted(self.pts, np.asarray(seconds, dtype=np.float64), side="right") - 1
        return np.clip(found, 0, max(len(self.pts) - 1, 0)).astype(np.int64)

    def first_before_end(self, seconds: float) -> int:
        """The first frame that does not end, by its own duration, at or before this time."""
        later = np.flatnonzero(self.ends > seconds)
        return int(later[0]) if len(later) else len(self) - 1

    def first_from(self, seconds: npt.ArrayLike) -> Numbers:
        """The first frame that comes on screen at or after this time, or each of these times."""
        return np.asarray(np.searchsorted(self.pts, seconds, side="left"), np.int64)


def _parsed(mappings: Any) -> tuple[Numbers, Numbers]:
    try:
        content = json.load(mappings) if hasattr(mappings, "read") else json.loads(mappings)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"Invalid custom frame mappings: {error}. Pass JSON as ffprobe prints it, as str, bytes or a file"
        ) from error
    if not content or "frames" not in content:
        raise ValueError(
            "Invalid custom frame mappings. The input is empty or missing the required 'frames' key. Pass JSON as "
            "ffprobe prints it with -show_frames"
        )
    frames = content["frames"]
    first = frames[0]
    pts_key = next((key for key in ("pts", "pkt_pts") if key in first), None)
    duration_key = next((key for key in ("duration", "pkt_duration") if key in first), None)
    if pts_key is None or duration_key is None or "key_frame" not in first:
        raise ValueError(
            "Invalid custom frame mappings. The 'pts'/'pkt_pts', 'duration'/'pkt_duration', and 'key_frame' keys are "
            "required in the frame metadata."
        )
    pts = np.array([int(frame[pts_key]) for frame in frames], dtype=np.int64)
    return pts, np.array([int(frame[duration_key]) for frame in frames], dtype=np.int64)
