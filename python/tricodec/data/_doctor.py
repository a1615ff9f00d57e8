# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the videos of an index, and which of them are slow: `tricodec doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal

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


_Finding = tuple[str, Level, str, dict[int, str]]
"""Name, level, meaning, and what is found by the row of the video."""


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
                "name": name, "level": level, "meaning": meaning,
                "videos": [{"row": row, "path": paths[row], "detail": text} for row, text in details.items()],
            }
            for name, level, meaning, details in sorted(findings, key=lambda each: _LEVELS.index(each[1]))
            if details
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

    def where(self, mask: Any, detail: Callable[[int], str]) -> dict[int, str]:
        """The readable videos of a mask, each with its detail."""
        return {row: detail(row) for row in np.flatnonzero(self.readable & mask).tolist()}

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


def _states(columns: _Columns) -> Iterator[_Finding]:
    status, errors = columns.values("status"), columns.values("error")
    meanings = {
        "unreadable": "no frame can be read",
        "failed": "reading failed; the next run tries again",
        "cut": "the file ends before its last frame",
        "damaged": "packets cannot be decoded whole",
    }
    for name, meaning in meanings.items():
        yield name, "error", meaning, {row: errors[row] or "" for row, each in enumerate(status) if each == name}


def _times(columns: _Columns) -> Iterator[_Finding]:
    fps, drift, start = columns.numbers("fps"), columns.numbers("max_drift_seconds"), columns.numbers("start_seconds")
    half, back = 0.5 / np.maximum(fps, 1e-9), columns.numbers("num_times_back")
    found = columns.where(drift >= half, lambda row: f"up to {drift[row]:.3f} s from an even rate")
    meaning = "a frame number that is computed as round(time * fps) is wrong: select frames by time"
    yield "uneven_times", "warning", meaning, found
    found = columns.where(back > 0, lambda row: f"at {back[row]:.0f} frames")
    yield "times_go_back", "warning", "times do not rise with the frames: joined files or wrong times", found
    found = columns.where(np.abs(start) >= half, lambda row: f"at {start[row]:.3f} s")
    yield "late_start", "warning", "the first frame is not at 0 s", found


def _pictures(columns: _Columns) -> Iterator[_Finding]:
    transfer, rotation, reasons = (columns.values(name) for name in ("color_transfer", "rotation", "gpu_refusal"))
    found = columns.where([each in _HDR for each in transfer], lambda row: _HDR[transfer[row]])
    yield "hdr", "warning", "HDR: frames of 8 bits look washed out without tone mapping", found
    found = columns.where([bool(each) for each in rotation], lambda row: f"{rotation[row]} degrees")
    yield "rotated", "note", "the picture is stored turned; some readers do not turn it back", found
    found = columns.where([bool(each) for each in reasons], lambda row: reasons[row])
    yield "no_gpu", "note", "a GPU does not decode it; the CPU does", found


def _mixtures(columns: _Columns) -> Iterator[_Finding]:
    rows = np.flatnonzero(columns.readable).tolist()
    for name in ("codec", "size", "fps", "pixel_format"):
        values = columns.shown(name)
        for common, count in Counter(values).most_common(1):
            others = {row: value for row, value in zip(rows, values, strict=True) if value != common}
            what = f"the same {name.replace('_', ' ')}, which is {common} in {count} of {len(values)}"
            yield f"mixed_{name}", "note", f"not all videos have {what}", others


def _duplicates(columns: _Columns) -> Iterator[_Finding]:
    first: dict[tuple[Any, Any], int] = {}
    details = {}
    paths = columns.values("path")
    for row, key in enumerate(zip(columns.values("checksum"), columns.values("size_bytes"), strict=True)):
        if columns.readable[row] and first.setdefault(key, row) != row:
            details[row] = f"as {paths[first[key]]}"
    yield "duplicates", "warning", "the same first and last bytes, size and stream", details


def _speed(columns: _Columns) -> Iterator[_Finding]:
    frames, width, height = (columns.numbers(name) for name in ("num_frames", "width", "height"))
    lengths = [np.array(each or [0], np.float64) for each in columns.values("gop_num_frames")]
    # A random frame is decoded with the frames before it in its group: half of the group on average.
    gop = np.array([(each * (each + 1)).sum() / 2 / max(each.sum(), 1) for each in lengths], np.float64)
    cost = gop * width * height
    usable = columns.readable & (frames > 0)
    usual = float(np.median(cost[usable])) if usable.any() else 0.0
    found = columns.where(
        usable & (cost > _SLOW * usual),
        lambda row: (
            f"{cost[row] / usual:.1f} times the usual: {gop[row]:.0f} frames of {width[row]:.0f}x"
            f"{height[row]:.0f} are decoded for one, GOPs of up to {lengths[row].max():.0f} frames"
        ),
    )
    yield "slow", "warning", "a random frame costs much more than in the other videos", found
