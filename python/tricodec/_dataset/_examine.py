# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a set of videos, and which of them are slow: `tricodec doctor`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tricodec._dataset._columns import READABLE

if TYPE_CHECKING:
    from tricodec._dataset._index import DatasetIndex

Level = Literal["error", "warning", "note"]
_COUNTED = ("status", "codec", "container", "size", "fps", "pixel_format", "audio_codec")
#: How many times the usual a random frame costs in a slow video.
_SLOW = 4.0
_LARGE_BYTES = 1 << 20
_HDR = {"smpte2084": "PQ", "arib-std-b67": "HLG"}


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that videos of an index have in common."""

    name: str
    """A word for programs: "cut", "duplicates", "slow", ..."""
    level: Level
    """"error" for videos that cannot be used or are damaged, "warning" for what gives surprises, else "note"."""
    meaning: str
    """One sentence."""
    rows: list[int]
    """The numbers of the videos."""
    details: list[str]
    """What is found in each of them, in the same order; "" if the meaning says all."""


@dataclasses.dataclass(frozen=True)
class Examination:
    """The counts of an index, and what was found."""

    num_videos: int
    num_frames: int
    duration_seconds: float
    size_bytes: int
    counts: dict[str, dict[str, int]]
    """By property (status, codec, container, size, fps, pixel_format, audio_codec): number of videos by value."""
    findings: list[Finding]
    """Errors first."""

    def to_dict(self, index: DatasetIndex, num_examples: int | None = None) -> dict[str, Any]:
        """All of it as plain data, with the paths of the videos.

        Args:
            index: what was examined.
            num_examples: the most videos of each finding; None is all.
        """
        paths = index.table["path"]
        facts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        facts["findings"] = [
            {
                "name": each.name, "level": each.level, "meaning": each.meaning, "num_videos": len(each.rows),
                "videos": [
                    {"row": row, "path": paths[row].as_py(), "detail": detail}
                    for row, detail in list(zip(each.rows, each.details, strict=True))[:num_examples]
                ],
            }
            for each in self.findings
        ]  # fmt: skip
        return facts


def examine(index: DatasetIndex, on_progress: Callable[[int, int], object] | None = None) -> Examination:
    """Counts the videos of an index by what they are, and finds what is wrong with them. Opens no video.

    Args:
        index: an open index.
        on_progress: is called with the number of checks and counts that are done, and of all.
    """
    columns = _Columns(index)
    order = ("error", "warning", "note")
    num_steps = len(_CHECKS) + len(_COUNTED)

    def done(step: int) -> None:
        if on_progress is not None:
            on_progress(step, num_steps)

    findings: list[Finding] = []
    for number, check in enumerate(_CHECKS, 1):
        findings += [each for each in check(columns) if each.rows]
        done(number)
    counts = {}
    for number, name in enumerate(_COUNTED, len(_CHECKS) + 1):
        counts[name] = dict(Counter(columns.shown(name)).most_common())
        done(number)
    return Examination(
        num_videos=len(index),
        num_frames=int(columns.numbers("num_frames").sum()),
        duration_seconds=float(columns.numbers("duration_seconds").sum()),
        size_bytes=int(columns.numbers("size_bytes").sum()),
        counts=counts,
        findings=sorted(findings, key=lambda each: order.index(each.level)),
    )


class _Columns:
    """Columns as lists and arrays."""

    def __init__(self, index: DatasetIndex) -> None:
        self.table = index.table
        self.readable = np.array([status in READABLE for status in self.values("status")], bool)

    def values(self, name: str) -> list[Any]:
        values: list[Any] = self.table[name].to_pylist()
        return values

    def numbers(self, name: str, missing: float = 0.0) -> Any:
        """Float64; of nulls `missing`."""
        return np.array([missing if value is None else value for value in self.values(name)], np.float64)

    def shown(self, name: str) -> list[str]:
        """Values of a property as texts; only of videos that have it."""
        if name == "status":
            return self.values(name)
        if name == "size":
            sizes = zip(self.values("width"), self.values("height"), strict=True)
            texts = [f"{width}x{height}" for width, height in sizes]
        elif name == "fps":
            texts = [f"{value or 0:.3f}".rstrip("0").rstrip(".") for value in self.values(name)]
        else:
            texts = [str(value or "none") for value in self.values(name)]
        return [text for text, usable in zip(texts, self.readable, strict=True) if usable]

    def found(self, name: str, level: Level, meaning: str, mask: Any, detail: Callable[[int], str]) -> Finding:
        rows = [int(row) for row in np.flatnonzero(mask)]
        return Finding(name, level, meaning, rows, [detail(row) for row in rows])


def _states(columns: _Columns) -> Iterator[Finding]:
    status, errors = np.array(columns.values("status"), object), columns.values("error")
    meanings = {
        "unreadable": "no frame can be read",
        "failed": "reading failed; the next run tries again",
        "missing": "the video is not there any more",
        "cut": "the file ends before its last frame",
        "damaged": "packets cannot be decoded whole",
    }
    for name, meaning in meanings.items():
        yield columns.found(name, "error", meaning, status == name, lambda row: errors[row] or "")


def _times(columns: _Columns) -> Iterator[Finding]:
    fps, drift, start = columns.numbers("fps"), columns.numbers("max_drift_seconds"), columns.numbers("start_seconds")
    half = 0.5 / np.maximum(fps, 1e-9)
    yield columns.found(
        "uneven_times",
        "warning",
        "a frame number that is computed as round(time * fps) is wrong: select frames by time",
        columns.readable & (drift >= half),
        lambda row: f"up to {drift[row]:.3f} s from an even rate",
    )
    back, meaning = columns.numbers("num_times_back"), "times do not rise with the frames: joined files or wrong times"
    mask = columns.readable & (back > 0)
    yield columns.found("times_go_back", "warning", meaning, mask, lambda row: f"at {back[row]:.0f} frames")
    yield columns.found(
        "late_start",
        "warning",
        "the first frame is not at 0 s",
        columns.readable & (np.abs(start) >= half),
        lambda row: f"at {start[row]:.3f} s",
    )
    duration, stated = columns.numbers("duration_seconds"), columns.numbers("stated_duration_seconds", np.nan)
    # A container's duration begins at 0 or with the first frame.
    differs = np.minimum(np.abs(duration - stated), np.abs(duration + start - stated)) > np.maximum(4 * half, 0.1)
    yield columns.found(
        "duration_differs",
        "warning",
        "the container states another duration than its frames have",
        columns.readable & differs,
        lambda row: f"{stated[row]:.3f} s stated, {duration[row]:.3f} s of frames",
    )


def _sizes(columns: _Columns) -> Iterator[Finding]:
    width, height = columns.numbers("width"), columns.numbers("height")
    yield columns.found(
        "odd_size",
        "warning",
        "an odd width or height, which some encoders and decoders refuse or crop",
        columns.readable & ((width % 2 == 1) | (height % 2 == 1)),
        lambda row: f"{width[row]:.0f}x{height[row]:.0f}",
    )
    turned, rotation = columns.numbers("rotation"), columns.values("rotation")
    yield columns.found(
        "rotated",
        "note",
        "the picture is stored turned; some readers do not turn it back",
        columns.readable & (turned != 0),
        lambda row: f"{rotation[row]} degrees",
    )


def _colors(columns: _Columns) -> Iterator[Finding]:
    transfer = np.array(columns.values("color_transfer"), object)
    yield columns.found(
        "hdr",
        "warning",
        "HDR: frames of 8 bits look washed out without tone mapping",
        columns.readable & np.isin(transfer, list(_HDR)),
        lambda row: _HDR[transfer[row]],
    )


def _mixtures(columns: _Columns) -> Iterator[Finding]:
    rows = np.flatnonzero(columns.readable)
    for name in ("codec", "size", "fps", "pixel_format"):
        values = columns.shown(name)
        common = Counter(values).most_common(1)
        others = [(int(row), value) for row, value in zip(rows, values, strict=True) if value != common[0][0]]
        meaning = f"not all videos have the same {name.replace('_', ' ')}"
        if others:
            meaning += f", which is {common[0][0]} in {common[0][1]} of {len(values)}"
        yield Finding(f"mixed_{name}", "note", meaning, [row for row, _ in others], [value for _, value in others])


def _duplicates(columns: _Columns) -> Iterator[Finding]:
    first: dict[tuple[Any, Any], int] = {}
    rows, details = [], []
    paths = columns.values("path")
    for row, key in enumerate(zip(columns.values("checksum"), columns.values("size_bytes"), strict=True)):
        if key[0] is None or not columns.readable[row]:
            continue
        if first.setdefault(key, row) != row:
            rows.append(row)
            details.append(f"as {paths[first[key]]}")
    yield Finding("duplicates", "warning", "the same first and last bytes, size and stream", rows, details)


def _gpu(columns: _Columns) -> Iterator[Finding]:
    reasons = columns.values("gpu_refusal")
    mask = columns.readable & np.array([bool(reason) for reason in reasons], bool)
    yield columns.found("no_gpu", "note", "a GPU does not decode it; the CPU does", mask, lambda row: reasons[row])


def _speed(columns: _Columns) -> Iterator[Finding]:
    frames, width, height = (columns.numbers(name) for name in ("num_frames", "width", "height"))
    lengths = columns.values("gop_num_frames")
    # A random frame is decoded with those before it in its GOP: half of the GOP on average.
    gop = np.array([_mean_frames(each) for each in lengths])
    cost = gop * width * height
    usable = columns.readable & (frames > 0)
    usual = float(np.median(cost[usable])) if usable.any() else 0.0

    def why(row: int) -> str:
        return (
            f"{cost[row] / usual:.1f} times the usual: {gop[row]:.0f} frames of {width[row]:.0f}x{height[row]:.0f} "
            f"are decoded for one, GOPs of up to {max(lengths[row])} frames"
        )

    yield columns.found(
        "slow",
        "warning",
        "a random frame costs much more than in the other videos",
        usable & (cost > _SLOW * usual),
        why,
    )
    size, taken = columns.numbers("size_bytes"), columns.numbers("bytes_read")
    by_table = np.array([each == "container" for each in columns.values("read")], bool)
    yield columns.found(
        "no_table",
        "note",
        "the container has no table of its packets: without the index all of the file is read before a random frame",
        usable & by_table & (size > _LARGE_BYTES) & (taken > 0.5 * size),
        lambda row: f"{size[row] / 1e6:.1f} MB",
    )


def _mean_frames(gops: list[int] | None) -> float:
    lengths = np.array(gops or [0], np.float64)
    total = lengths.sum()
    return float((lengths * (lengths + 1)).sum() / 2 / total) if total else 0.0


_CHECKS = (_states, _times, _sizes, _colors, _mixtures, _duplicates, _gpu, _speed)
