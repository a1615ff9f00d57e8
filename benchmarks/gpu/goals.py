# SPDX-License-Identifier: Apache-2.0
"""What the GPU engine should reach, judged from the rows of a results file.

The limit of the engines is what the official package reaches with 21 threads, a file of 3,000 frames each, in the same
run. Beside it is our own: the best of 7 and 14 decoders that are fed from memory, which is more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from benchmarks.goals import Goal
from benchmarks.results import Row

CODECS = {"h264": "H.264", "hevc": "HEVC"}
_LIMIT = "21_files_of_3000"
_PARTS = ("cpp0", "cpp1", "python", "triton", "alone")


class Figures:
    """The rows of a codec by name; what is not there is None."""

    def __init__(self, codec: str, rows: Iterable[Row]) -> None:
        self.codec = codec
        self.rows = [row for row in rows if row.input == codec]

    def all(self, task: str, contender: str = "tricodec") -> list[Row]:
        """A contender's ways to do the task."""
        return [row for row in self.rows if (row.task, row.contender, row.against) == (task, contender, "")]

    def best(self, task: str, contender: str = "tricodec") -> float | None:
        """The best of them in frames a second: the most that is possible if it did not come to an end."""
        found = [row.high if row.value is None else row.value for row in self.all(task, contender)]
        return max((value for value in found if value is not None), default=None)

    def own_limit(self) -> float | None:
        """Of the engines by decoders of ours that have nothing to wait for."""
        known = [self.best(name) for name in ("engines_7_decoders", "engines_14_decoders")]
        return max((value for value in known if value), default=None)

    def ratio(
        self, name: str, value: float | None, of: str, of_value: float | None, target: float | None,
        most: float | None = None,
    ) -> Iterator[Goal]:  # fmt: skip
        """The goal about `value / of_value`, if both are known; `most` is the most that `value` can be."""
        if value is not None and of_value is not None:
            of_limit = value / most if most else None
            yield Goal(f"{self.codec}.{name}", value, "frames/s", target, of, of_value, value / of_value,
                       of_limit=of_limit)  # fmt: skip


def _one_file(figures: Figures) -> Iterator[Goal]:
    """One file on all engines: 0.9 of their limit, six times the official speed, and Transform for nothing."""
    official, own = figures.best(_LIMIT, "pynvvideocodec"), figures.own_limit()
    for tail in ("", "_gop250", "_2160p"):
        for way in ("frames", "batches", "tensor"):
            name = f"one_file_{way}{tail}"
            value = figures.best(name)
            if tail == "_2160p":
                yield from figures.ratio(name, value, "engines_2160p", figures.best("engines_2160p"), 0.9)
                continue
            yield from figures.ratio(name, value, f"pynvvideocodec, {_LIMIT}", official, 0.9)
            own_limit = figures.best("engines_gop250") if tail else own
            # Twelve groups are fed at once from memory: more than that a file of twelve cannot reach.
            most = figures.best("engines_gop250_groups") if tail else None
            yield from figures.ratio(name, value, "our decoders", own_limit, 0.9, most)
    theirs = figures.best("one_file", "pynvvideocodec")
    yield from figures.ratio("one_file_tensor", figures.best("one_file_tensor"), "pynvvideocodec", theirs, 6.0)
    for peer, target in (("pynvvideocodec", 6.0), ("dali", None)):
        yield from figures.ratio("one_file", figures.best("one_file"), peer, figures.best("one_file", peer), target)
    for row in figures.rows:
        if row.against.startswith("one_file_frames") and row.value is not None:
            # The chain to 224x224 float16 CHW is not slower than decoding alone; rounds differ by 1 %.
            name = f"{figures.codec}.{row.task.replace('one_file_batches', 'chain')}"
            yield Goal(name, row.value, "x", 0.99, "decode alone", 1.0, row.value, pairs=row.spread)


def _many_files(figures: Figures) -> Iterator[Goal]:
    """Many files at once, and short ones."""
    official, own = figures.best(_LIMIT, "pynvvideocodec"), figures.own_limit()
    for name in ("8_files", "16_files", "64_files", "64_files_of_300"):
        value = figures.best(name)
        yield from figures.ratio(name, value, f"pynvvideocodec, {_LIMIT}", official, 0.97)
        yield from figures.ratio(name, value, "our decoders", own, 0.97)
    yield from figures.ratio(_LIMIT, figures.best(_LIMIT), "pynvvideocodec", official, 0.97)
    for task, target, peers in (
        ("28_files_of_300", 1.7, ("pynvvideocodec", "dali")),
        ("first_frame", 2.0, ("pynvvideocodec",)),
    ):
        ours = [value for name in ("tricodec", "tricodec-dali") if (value := figures.best(task, name))]
        for peer in peers:
            yield from figures.ratio(task, max(ours, default=None), peer, figures.best(task, peer), target)


def _host(figures: Figures) -> Iterator[Goal]:
    """The host's time, and device memory that stays."""
    ours, theirs = (
        [row.cpu_ms for row in figures.all(_LIMIT, name) if row.cpu_ms] for name in ("tricodec", "pynvvideocodec")
    )
    if ours and theirs:
        yield Goal(f"{figures.codec}.cpu", ours[0] * 1e3, "us a frame", None, "pynvvideocodec", theirs[0] * 1e3,
                   ours[0] / theirs[0], at_least=False)  # fmt: skip
    for task in ("memory_over_files", "memory_over_frames"):
        of = {row.setting: row.value for row in figures.all(task)}
        early, late = of.get("early"), of.get("late")
        if early and late:
            yield Goal(f"{figures.codec}.{task}", late, "MB", 1.02, "before", early, late / early, at_least=False)


def _checks(facts: Mapping[str, str]) -> Iterator[Goal]:
    """What the tests of tools/gpu_check.sh show: frames and batches equal the CPU's bit for bit."""
    checks = dict(check.split(" ") for check in facts.get("checks", "").split(", ") if check)
    if found := [checks[name] for name in _PARTS if name in checks]:
        passed = float(found.count("passed"))
        yield Goal("bit_exact", passed, "parts of the tests", 1.0, "all", float(len(found)), passed / len(found))


def goals_of(facts: Mapping[str, str], rows: Iterable[Row]) -> list[Goal]:
    """Every goal that a results file has figures for."""
    rows = list(rows)
    found = list(_checks(facts))
    for codec in CODECS:
        figures = Figures(codec, rows)
        found += [*_one_file(figures), *_many_files(figures), *_host(figures)]
    return found
