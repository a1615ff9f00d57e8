# SPDX-License-Identifier: Apache-2.0
"""Which clips a dataset has: the video of each, and the words that select its frames."""

from __future__ import annotations

import abc
import bisect
import hashlib
import itertools
import multiprocessing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tricodec._dataset._columns import READABLE, arrow
from tricodec._tricodec import log
from tricodec.selection import SELECTION_WORDS, checked_words

if TYPE_CHECKING:
    from tricodec._dataset._index import DatasetIndex

_PART_WORDS = ("start", "count", "start_s", "end_s")
#: Instants that differ by less of one are the same, whatever the rounding of a duration is.
_SLACK = 1e-6


class ClipList(abc.ABC):
    """The clips of parts of videos. A part is a range of frames or of seconds; its clips follow one another.

    Thread safety: safe.
    """

    def __init__(self, rows: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], rule: str) -> None:
        """Numbers the clips.

        Args:
            rows: the row of each part in the index.
            counts: the number of clips of each part.
            rule: what else decides which frames a clip has; for the fingerprint.
        """
        self.rows = rows
        self._ends = np.cumsum(counts).tolist()
        self._rule = rule

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._ends else 0

    def place(self, clip: int) -> tuple[int, int]:
        """The part of a clip, and its number in it."""
        part = bisect.bisect_right(self._ends, clip)
        return part, clip - (self._ends[part - 1] if part else 0)

    def row(self, clip: int) -> int:
        """The row of a clip's video in the index."""
        return int(self.rows[self.place(clip)[0]])

    @property
    def counts(self) -> list[int]:
        """The number of clips of each part."""
        return [end - begin for begin, end in itertools.pairwise([0, *self._ends])]

    @abc.abstractmethod
    def words(self, clip: int) -> dict[str, Any]:
        """The words of `decode_video` that select the frames of a clip."""

    def length(self, clip: int) -> int:
        """About how many frames a clip has."""
        words = self.words(clip)
        for name in ("count", "num_frames"):
            if name in words:
                return int(words[name])
        return len(words.get("times") or words.get("indices") or (0,))

    def near(self, clip: int, fps: float) -> tuple[int, int]:
        """About which frames a clip begins and ends with, for reading neighbors together."""
        words = self.words(clip)
        if "times" in words:
            return int(min(words["times"]) * fps), int(max(words["times"]) * fps)
        if "indices" in words:
            return min(words["indices"]), max(words["indices"])
        first = words["start"] if "start" in words else int(words.get("start_s", 0.0) * fps)
        last = first + (words.get("count", 1) - 1) * words.get("stride", 1)
        return first, last if "end_s" not in words else int(words["end_s"] * fps)

    def fingerprint(self, index: DatasetIndex) -> str:
        """A text that differs if the videos, the parts or the frames of the clips do."""
        digest = hashlib.sha256(f"{self._rule}\n".encode())
        paths, checksums = index.table["path"].to_pylist(), index.table["checksum"].to_pylist()
        for row, end in zip(self.rows.tolist(), self._ends, strict=True):
            digest.update(f"{paths[row]} {checksums[row]} {end}\n".encode())
        return digest.hexdigest()


class FrameClips(ClipList):
    """Clips of frames that are `stride` apart."""

    def __init__(
        self, rows: Any, firsts: Any, num_frames: Any, length: int, stride: int, step: int
    ) -> None:  # fmt: skip
        """As `ClipList`; each part has `num_frames` frames from `firsts` on."""
        span = (length - 1) * stride + 1
        counts = np.maximum(num_frames - span + step, 0) // step
        super().__init__(rows, counts, f"frames {length} {stride} {step} {_digest(firsts)}")
        self._firsts = firsts
        self._length, self._stride, self._step = length, stride, step

    def words(self, clip: int) -> dict[str, Any]:
        """As `ClipList`."""
        part, number = self.place(clip)
        first = int(self._firsts[part]) + number * self._step
        return {"start": first, "stride": self._stride, "count": self._length}


class RateClips(ClipList):
    """Clips of the frames on screen at instants of an even rate, whatever the rate of the video is."""

    def __init__(
        self, rows: Any, begins: Any, ends: Any, fps: float, length: int, stride: int, step: int
    ) -> None:  # fmt: skip
        """As `ClipList`; each part has the seconds from `begins` to `ends`."""
        instants = np.ceil((ends - begins) * fps - _SLACK).astype(np.int64)
        span = (length - 1) * stride + 1
        counts = np.maximum(instants - span + step, 0) // step
        super().__init__(rows, counts, f"fps {fps} {length} {stride} {step} {_digest(begins)}")
        self._begins, self._fps, self._step = begins, fps, step
        self._offsets = np.arange(length) * stride

    def words(self, clip: int) -> dict[str, Any]:
        """As `ClipList`."""
        part, number = self.place(clip)
        times = self._begins[part] + (number * self._step + self._offsets) / self._fps
        return {"times": times.tolist(), "policy": "on_screen"}


class ChosenClips(ClipList):
    """Clips that the caller selects one by one."""

    def __init__(self, rows: Any, words: list[dict[str, Any]]) -> None:
        """As `ClipList`; each part is one clip with these words."""
        super().__init__(rows, np.ones(len(rows), np.int64), f"chosen {_digest(words)}")
        self._words = words

    def words(self, clip: int) -> dict[str, Any]:
        """As `ClipList`."""
        return self._words[clip]


def list_clips(
    index: DatasetIndex,
    clip_length: int | None,
    stride: int,
    step: int | None,
    fps: float | None,
    parts: list[dict[str, Any]] | None,
) -> ClipList:
    """The clips that the arguments of `Dataset` mean."""
    if clip_length is None:
        if parts is None:
            raise ValueError("clip_length is missing; name the frames of a clip, or the clips as parts")
        if (stride, step, fps) != (1, None, None):
            raise ValueError("stride, step and fps cut parts into clips: name clip_length too, or leave them out")
        chosen = [checked_words("parts of Dataset", _words(part, SELECTION_WORDS)) for part in parts]
        return ChosenClips(_rows(index, parts), chosen)
    for name, value in (("clip_length", clip_length), ("stride", stride), ("step", step)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}; expected 1 or more")
    if fps is not None and not 0 < fps < float("inf"):
        raise ValueError(f"fps is {fps}; expected a number above 0")
    step = clip_length * stride if step is None else step
    if parts is None:
        rows, firsts, frames, begins, ends = _whole_videos(index)
    else:
        rows, firsts, frames, begins, ends = _measured(index, parts)
    if fps is None:
        return FrameClips(rows, firsts, frames, clip_length, stride, step)
    return RateClips(rows, begins, ends, float(fps), clip_length, stride, step)


def check_clips(index: DatasetIndex, clips: ClipList, what: str) -> None:
    """Warns of parts without a clip, with their numbers and the first of each kind.

    Args:
        index: where the videos are.
        clips: the clips.
        what: how a part is called: video, part or episode.

    Raises:
        ValueError: no clip is left.
    """
    paths, errors = index.table["path"], index.table["error"]
    usable = [status in READABLE for status in index.table["status"].to_pylist()]
    parts = list(zip(clips.rows.tolist(), clips.counts, strict=True))
    failed = [row for row, _ in parts if not usable[row]]
    short = [row for row, count in parts if usable[row] and count == 0]
    reasons = []
    if failed:
        verb, which = ("is", "it") if len(failed) == 1 else ("are", "the first")
        reasons.append(f"{len(failed)} {verb} unreadable ({which} is '{paths[failed[0]]}': {errors[failed[0]]})")
    if short:
        verb, which = ("is", "it") if len(short) == 1 else ("are", "the first")
        reasons.append(f"{len(short)} {verb} shorter than a clip ({which} is of '{paths[short[0]]}')")
    if not parts:
        raise ValueError(f"there is no clip: '{index.path}' has no {what}; name other sources")
    num_lost = len(failed) + len(short)
    left_out = f"{num_lost} of {len(parts)} {what}s of '{index.path}' cannot be used: {', '.join(reasons)}"
    if num_lost == len(parts):
        raise ValueError(f"there is no clip: {left_out}")
    if reasons and multiprocessing.parent_process() is None:  # worker processes would repeat it
        log("warning", left_out)


def read_parts(parts: Any) -> list[dict[str, Any]]:
    """The rows of a table of parts: mappings, a pyarrow.Table, or the path of a CSV or Parquet file."""
    if hasattr(parts, "__fspath__") or isinstance(parts, str):
        parts = _read_table(Path(parts))
    if hasattr(parts, "to_pylist"):
        parts = parts.to_pylist()
    return [dict(part) for part in parts]


def _read_table(path: Path) -> Any:
    arrow()
    if path.suffix.lower() == ".csv":
        import pyarrow.csv

        return pyarrow.csv.read_csv(path)
    import pyarrow.parquet

    return pyarrow.parquet.read_table(path, use_threads=False)


def _words(part: Mapping[str, Any], accepted: Sequence[str]) -> dict[str, Any]:
    return {name: part[name] for name in accepted if part.get(name) is not None}


def _rows(index: DatasetIndex, parts: list[dict[str, Any]]) -> npt.NDArray[np.int64]:
    """The row of the video of each part."""
    rows = {path: row for row, path in enumerate(index.table["path"].to_pylist())}
    for part in parts:
        if "path" not in part:
            raise ValueError(f"a part is {part}; it needs the path of its video, as the index has it")
        if part["path"] not in rows:
            raise ValueError(f"a part is of '{part['path']}', which is not in the index '{index.path}'")
    return np.array([rows[part["path"]] for part in parts], np.int64)


def _whole_videos(index: DatasetIndex) -> tuple[Any, Any, Any, Any, Any]:
    """Rows, first frames, numbers of frames, begins and ends of all videos; those that cannot be read have none."""
    table = index.table
    frames = np.array([count or 0 for count in table["num_frames"].to_pylist()], np.int64)
    usable = np.array([status in READABLE for status in table["status"].to_pylist()], bool)
    begins = np.array([start or 0.0 for start in table["start_seconds"].to_pylist()], np.float64)
    seconds = np.array([seconds or 0.0 for seconds in table["duration_seconds"].to_pylist()], np.float64)
    frames, seconds = np.where(usable, frames, 0), np.where(usable, seconds, 0.0)
    return np.arange(len(frames)), np.zeros(len(frames), np.int64), frames, begins, begins + seconds


def _measured(index: DatasetIndex, parts: list[dict[str, Any]]) -> tuple[Any, Any, Any, Any, Any]:
    """The same of parts. The index of a video's packets says which frames are in a range of seconds."""
    rows = _rows(index, parts)
    _, _, all_frames, begins, ends = (column.copy() for column in _whole_videos(index))
    found = np.zeros((len(parts), 2), np.int64)
    seconds = np.zeros((len(parts), 2), np.float64)
    by_row: dict[int, list[int]] = {}
    for number, row in enumerate(rows.tolist()):
        by_row.setdefault(row, []).append(number)
    for row, numbers in by_row.items():
        if all_frames[row] == 0:
            continue
        with index.reader(row, device="cpu", num_workers=1) as reader:
            times = reader.pts_seconds
            for number in numbers:
                words = checked_words("parts of Dataset", _words(parts[number], _PART_WORDS))
                indices, _ = reader._selected(**words)
                if len(indices) == 0:
                    continue
                first, past = int(indices[0]), int(indices[-1]) + 1
                found[number] = first, past - first
                end = float(times[past]) if past < len(times) else float(ends[row])
                seconds[number] = max(float(times[first]), words.get("start_s", begins[row])), end
    return rows, found[:, 0], found[:, 1], seconds[:, 0], seconds[:, 1]


def _digest(value: Any) -> str:
    data = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
    return hashlib.sha256(data).hexdigest()[:16]
