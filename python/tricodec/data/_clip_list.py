# SPDX-License-Identifier: Apache-2.0
"""Which clips a data set has: the video of each, and the arguments that select its frames."""

from __future__ import annotations

import abc
import bisect
import hashlib
import multiprocessing
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import log
from tricodec.data._index import DatasetIndex
from tricodec.data._table import READABLE

_PART_KEYS = ("start", "count", "start_s", "end_s")
#: Durations are rounded: an instant this near to the end of a video, in frames, is past it.
_SLACK = 1e-6


class ClipList(abc.ABC):
    """The clips of parts of videos, which follow one another in a part. Thread safety: safe."""

    def __init__(self, rows: npt.NDArray[np.int64], room: Any, length: int, stride: int, step: int, rule: str) -> None:
        """Numbers the clips of parts with these rows, and `room` for so many frames; the fingerprint has the `rule`."""
        span = (length - 1) * stride + 1
        self.rows = rows
        self.length = length
        """Frames of a clip."""
        self.counts = np.maximum(np.asarray(room, np.int64) - span + step, 0) // step
        """The number of clips of each part."""
        self._ends = np.cumsum(self.counts).tolist()
        self._step = step
        self._offsets = np.arange(length) * stride
        self._rule = f"{length} {stride} {step} {rule}"

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._ends else 0

    def place(self, clip: int) -> tuple[int, int]:
        """The part of a clip, and the place in this part where the clip starts."""
        part = bisect.bisect_right(self._ends, clip)
        return part, (clip - (self._ends[part - 1] if part else 0)) * self._step

    def row(self, clip: int) -> int:
        """The row of a clip's video in the index."""
        return int(self.rows[self.place(clip)[0]])

    @abc.abstractmethod
    def selection(self, clip: int) -> dict[str, Any]:
        """The arguments of `decode_video` that select the frames of a clip: ``indices``, or ``times`` with a policy."""

    def near(self, clip: int, fps: float) -> tuple[int, int]:
        """About which frames a clip starts and ends with. Clips of one group of pictures are read together."""
        selection = self.selection(clip)
        if "indices" in selection:
            return selection["indices"][0], selection["indices"][-1]
        return int(selection["times"][0] * fps), int(selection["times"][-1] * fps)

    def fingerprint(self, index: DatasetIndex) -> str:
        """A text that differs if the videos, the parts or the frames of the clips do."""
        digest = hashlib.sha256(f"{self._rule}\n".encode())
        paths, checksums = index.table["path"].to_pylist(), index.table["checksum"].to_pylist()
        for row, end in zip(self.rows.tolist(), self._ends, strict=True):
            digest.update(f"{paths[row]} {checksums[row]} {end}\n".encode())
        return digest.hexdigest()


class FrameClips(ClipList):
    """Clips of frames that are `stride` apart."""

    def __init__(self, rows: Any, firsts: Any, num_frames: Any, length: int, stride: int, step: int) -> None:
        """Numbers the clips of parts with `num_frames` frames from `firsts` on."""
        super().__init__(rows, num_frames, length, stride, step, f"frames {_digest(firsts)}")
        self._firsts = firsts

    def selection(self, clip: int) -> dict[str, Any]:
        part, place = self.place(clip)
        return {"indices": (self._firsts[part] + place + self._offsets).tolist()}


class RateClips(ClipList):
    """Clips of the frames on screen at instants of an even rate, whatever the rate of the video is."""

    def __init__(self, rows: Any, starts: Any, ends: Any, fps: float, length: int, stride: int, step: int) -> None:
        """Numbers the clips of parts with the seconds from `starts` to `ends`."""
        room = np.ceil((ends - starts) * fps - _SLACK)
        super().__init__(rows, room, length, stride, step, f"fps {fps} {_digest(starts)}")
        self._starts, self._fps = starts, fps

    def selection(self, clip: int) -> dict[str, Any]:
        part, place = self.place(clip)
        return {"times": (self._starts[part] + (place + self._offsets) / self._fps).tolist(), "policy": "on_screen"}


def list_clips(
    index: DatasetIndex,
    clip_length: int,
    stride: int,
    step: int | None,
    fps: float | None,
    parts: list[dict[str, Any]] | None,
) -> ClipList:
    """The clips that the arguments of `Dataset` mean."""
    step = checked_step(clip_length, stride, step)
    if fps is not None and not 0 < fps < float("inf"):
        raise ValueError(f"fps is {fps}; expected a number above 0")
    rows, firsts, frames, starts, ends = _whole_videos(index) if parts is None else _measured(index, parts)
    if fps is None:
        return FrameClips(rows, firsts, frames, clip_length, stride, step)
    return RateClips(rows, starts, ends, float(fps), clip_length, stride, step)


def checked_step(clip_length: int, stride: int, step: int | None) -> int:
    """The distance of clips: `step`, or the length of a clip."""
    step = clip_length * stride if step is None else step
    for name, value in (("clip_length", clip_length), ("stride", stride), ("step", step)):
        if value < 1:
            raise ValueError(f"{name} is {value}; expected 1 or more")
    return step


def check_clips(index: DatasetIndex, clips: ClipList, what: str) -> None:
    """Warns of parts without a clip, and refuses if no clip is left. `what` is how a part is called."""
    if len(clips.rows) == 0:
        raise ValueError(f"there is no clip: '{index.path}' has no {what}; name other sources")
    paths, errors = index.table["path"], index.table["error"]
    usable = readable(index)[clips.rows]
    failed, short = clips.rows[~usable], clips.rows[usable & (clips.counts == 0)]
    reasons = []
    if len(failed):
        row = int(failed[0])
        reasons.append(f"{_counted(failed)} unreadable (such as '{paths[row]}': {errors[row]})")
    if len(short):
        reasons.append(f"{_counted(short)} shorter than a clip (such as one of '{paths[int(short[0])]}')")
    lost = len(failed) + len(short)
    left_out = f"{lost} of {len(clips.rows)} {what}s of '{index.path}' cannot be used: {', '.join(reasons)}"
    if lost == len(clips.rows):
        raise ValueError(f"there is no clip: {left_out}")
    if lost and multiprocessing.parent_process() is None:  # worker processes would repeat it
        log("warning", left_out)


def readable(index: DatasetIndex) -> npt.NDArray[np.bool_]:
    """Which videos can be read."""
    return np.array([status in READABLE for status in index.table["status"].to_pylist()], bool)


def _counted(rows: Any) -> str:
    return f"{len(rows)} {'is' if len(rows) == 1 else 'are'}"


def _whole_videos(index: DatasetIndex) -> tuple[Any, Any, Any, Any, Any]:
    """Row, first frame, number of frames, start and end in seconds of all videos; 0 frames if it cannot be read."""
    usable = readable(index)

    def column(name: str, dtype: Any) -> Any:
        return np.where(usable, np.array([value or 0 for value in index.table[name].to_pylist()], dtype), 0)

    starts = column("start_seconds", np.float64)
    ends = starts + column("duration_seconds", np.float64)
    frames = column("num_frames", np.int64)
    return np.arange(len(frames)), np.zeros(len(frames), np.int64), frames, starts, ends


def _measured(index: DatasetIndex, parts: list[dict[str, Any]]) -> tuple[Any, Any, Any, Any, Any]:
    """The same of parts. The index of a video's packets says which frames are in a range of seconds."""
    row_of = {path: row for row, path in enumerate(index.table["path"].to_pylist())}
    by_row: dict[int, list[int]] = {}
    for number, part in enumerate(parts):
        if "path" not in part:
            raise ValueError(f"a part is {part}; it needs the path of its video, as the index has it")
        if part["path"] not in row_of:
            raise ValueError(f"a part is of '{part['path']}', which is not in the index '{index.path}'")
        by_row.setdefault(row_of[part["path"]], []).append(number)
    _, _, num_frames, all_starts, all_ends = _whole_videos(index)
    frames = np.zeros((len(parts), 2), np.int64)
    seconds = np.zeros((len(parts), 2), np.float64)
    for row, numbers in by_row.items():
        if num_frames[row] == 0:
            continue
        with index.reader(row, device="cpu", num_workers=1) as reader:
            times = reader.pts_seconds
            for number in numbers:
                given = {key: parts[number][key] for key in _PART_KEYS if parts[number].get(key) is not None}
                indices = reader._selected(**given)[0]
                if len(indices) == 0:
                    continue
                first, end = int(indices[0]), int(indices[-1]) + 1
                frames[number] = first, end - first
                until = float(times[end]) if end < len(times) else float(all_ends[row])
                seconds[number] = max(float(times[first]), given.get("start_s", all_starts[row])), until
    rows = np.array([row_of[part["path"]] for part in parts], np.int64)
    return rows, frames[:, 0], frames[:, 1], seconds[:, 0], seconds[:, 1]


def _digest(values: npt.NDArray[Any]) -> str:
    return hashlib.sha256(values.tobytes()).hexdigest()[:16]
