# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the videos of an index, and which of them are slow: `tricodec doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tricodec.data._clip_list import readable
from tricodec.data._index import DatasetIndex

Level = Literal["error", "warning", "note"]
_LEVELS: tuple[Level, ...] = ("error", "warning", "note")
_COUNTED = ("status", "codec", "container", "size", "fps", "pixel_format", "audio_codec")
#: How many times the usual a random frame costs in a slow video.
_SLOW = 4.0
_HDR = {"smpte2084": "PQ", "arib-std-b67": "HLG"}


class _Finding(NamedTuple):
    """Something that videos of an index have in common."""

    name: str
    level: Level
    meaning: str
    details: dict[int, str]
    """What is found, by the row of the video."""


def examine(index: DatasetIndex) -> dict[str, Any]:
    """Counts the videos of an index by what they are, and finds what is wrong with them. Opens no video.

    Args:
        index: an open index.

    Returns:
        dict: plain data. ``num_videos``, ``num_frames``, ``duration_seconds`` and ``size_bytes``; ``counts``, the
        number of videos by value of each property (status, codec, container, size, fps, pixel_format, audio_codec);
        and ``findings``, errors first: dicts with a ``name`` for programs ("cut", "slow", ...), the ``level`` ("error"
        for videos that cannot be used or are damaged, "warning" for what gives surprises, else "note"), the
        ``meaning`` in one sentence, and ``videos`` with the ``row``, the ``path`` and the ``detail`` of each.
    """
    columns = _Columns(index)
    paths = columns.values("path")
    findings = [
        each for check in (_states, _times, _pictures, _mixtures, _duplicates, _speed) for each in check(columns)
    ]
    return {
        "num_videos": len(index),
        "num_frames": int(columns.numbers("num_frames").sum()),
        "duration_seconds": float(columns.numbers("duration_seconds").sum()),
        "size_bytes": int(columns.numbers("size_bytes").sum()),
        "counts": {name: dict(Counter(columns.shown(name)).most_common()) for name in _COUNTED},
        "findings": [
            {
                "name": each.name, "level": each.level, "meaning": each.meaning,
                "videos": [{"row": row, "path": paths[row], "detail": text} for row, text in each.details.items()],
            }
            for each in sorted(findings, key=lambda each: _LEVELS.index(each.level))
            if each.details
        ],
    }  # fmt: skip


class _Columns:
    """The columns of an index as lists and arrays."""

    def __init__(self, index: DatasetIndex) -> None:
        self._table = index.table
        self.readable = readable(index)

    def values(self, name: str) -> list[Any]:
        found: list[Any] = self._table[name].to_pylist()
        return found

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """The values of a column of numbers; 0 for null."""
        return np.array([value or 0 for value in self.values(name)], np.float64)

    def shown(self, name: str) -> list[str]:
        """A property as text: the status of all videos, and the other ones of those that can be read."""
        if name == "status":
            return self.values(name)
        if name == "size":
            values = [f"{w}x{h}" for w, h in zip(self.values("width"), self.values("height"), strict=True)]
        elif name == "fps":
            values = [f"{value or 0:.3f}".rstrip("0").rstrip(".") for value in self.values(name)]
        else:
            values = [str(value or "none") for value in self.values(name)]
        return [value for value, is_readable in zip(values, self.readable, strict=True) if is_readable]


def _found(name: str, level: Level, meaning: str, mask: Any, detail: Callable[[int], str]) -> _Finding:
    return _Finding(name, level, meaning, {row: detail(row) for row in np.flatnonzero(mask).tolist()})


def _states(columns: _Columns) -> Iterator[_Finding]:
    status, errors = np.array(columns.values("status"), object), columns.values("error")
    meanings = {
        "unreadable": "no frame can be read",
        "failed": "reading failed; the next run tries again",
        "cut": "the file ends before its last frame",
        "damaged": "packets cannot be decoded whole",
    }
    for name, meaning in meanings.items():
        yield _found(name, "error", meaning, status == name, lambda row: errors[row] or "")


def _times(columns: _Columns) -> Iterator[_Finding]:
    fps, drift, start = columns.numbers("fps"), columns.numbers("max_drift_seconds"), columns.numbers("start_seconds")
    half = 0.5 / np.maximum(fps, 1e-9)
    meaning = "a frame number that is computed as round(time * fps) is wrong: select frames by time"
    mask = columns.readable & (drift >= half)
    yield _found("uneven_times", "warning", meaning, mask, lambda row: f"up to {drift[row]:.3f} s from an even rate")
    back, meaning = columns.numbers("num_times_back"), "times do not rise with the frames: joined files or wrong times"
    mask = columns.readable & (back > 0)
    yield _found("times_go_back", "warning", meaning, mask, lambda row: f"at {back[row]:.0f} frames")
    mask = columns.readable & (np.abs(start) >= half)
    yield _found("late_start", "warning", "the first frame is not at 0 s", mask, lambda row: f"at {start[row]:.3f} s")


def _pictures(columns: _Columns) -> Iterator[_Finding]:
    transfer = np.array(columns.values("color_transfer"), object)
    meaning = "HDR: frames of 8 bits look washed out without tone mapping"
    mask = columns.readable & np.isin(transfer, list(_HDR))
    yield _found("hdr", "warning", meaning, mask, lambda row: _HDR[transfer[row]])
    rotation, meaning = columns.values("rotation"), "the picture is stored turned; some readers do not turn it back"
    mask = columns.readable & (columns.numbers("rotation") != 0)
    yield _found("rotated", "note", meaning, mask, lambda row: f"{rotation[row]} degrees")
    reasons = columns.values("gpu_refusal")
    mask = columns.readable & np.array([bool(reason) for reason in reasons], bool)
    yield _found("no_gpu", "note", "a GPU does not decode it; the CPU does", mask, lambda row: reasons[row])


def _mixtures(columns: _Columns) -> Iterator[_Finding]:
    rows = np.flatnonzero(columns.readable).tolist()
    for name in ("codec", "size", "fps", "pixel_format"):
        values = columns.shown(name)
        for common, count in Counter(values).most_common(1):
            others = {row: value for row, value in zip(rows, values, strict=True) if value != common}
            what = f"the same {name.replace('_', ' ')}, which is {common} in {count} of {len(values)}"
            yield _Finding(f"mixed_{name}", "note", f"not all videos have {what}", others)


def _duplicates(columns: _Columns) -> Iterator[_Finding]:
    first: dict[tuple[Any, Any], int] = {}
    details = {}
    paths = columns.values("path")
    for row, key in enumerate(zip(columns.values("checksum"), columns.values("size_bytes"), strict=True)):
        if columns.readable[row] and first.setdefault(key, row) != row:
            details[row] = f"as {paths[first[key]]}"
    yield _Finding("duplicates", "warning", "the same first and last bytes, size and stream", details)


def _speed(columns: _Columns) -> Iterator[_Finding]:
    frames, width, height = (columns.numbers(name) for name in ("num_frames", "width", "height"))
    lengths = [np.array(each or [0], np.float64) for each in columns.values("gop_num_frames")]
    # A random frame is decoded with the frames before it in its group: half of the group on average.
    gop = np.array([(each * (each + 1)).sum() / 2 / max(each.sum(), 1) for each in lengths], np.float64)
    cost = gop * width * height
    usable = columns.readable & (frames > 0)
    usual = float(np.median(cost[usable])) if usable.any() else 0.0
    yield _found(
        "slow", "warning", "a random frame costs much more than in the other videos", usable & (cost > _SLOW * usual),
        lambda row: f"{cost[row] / usual:.1f} times the usual: {gop[row]:.0f} frames of {width[row]:.0f}x"
        f"{height[row]:.0f} are decoded for one, GOPs of up to {lengths[row].max():.0f} frames",
    )  # fmt: skip
