# SPDX-License-Identifier: Apache-2.0
"""The goals: what each compares, what it must reach, and whether the figures reach it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from plan import CHIEF, REFERENCES, TASKS

_MEMORY_MB = 150.0
# Tasks whose memory is ours to bound: the others' answers, or their own ring of pictures, are larger.
_STREAMED = ("yuv420p", "nv12", "rgb", "tensor_antialiased", "tensor_plain", "first")


@dataclasses.dataclass(frozen=True)
class Goal:
    """Something to be reached.

    Attributes:
        name: of the goal; the same in every results file.
        value: tricodec's figure.
        unit: of it.
        peer: whom it is compared with; None where the value itself is judged.
        peer_value: the peer's figure in the same unit.
        ratio: how many times better than the peer tricodec is; below 1 it is worse.
        target: what the ratio, or the value where there is no peer, must be.
        at_least: whether it must be no less than the target, or no more.
        passed: whether it is.
        of_limit: where the machine's memory is the limit, how much of its speed is reached: that of memcpy, with as
            many threads, over as many bytes as the task reads and writes. Near 1 no thread more makes it faster.
    """

    name: str
    value: float
    unit: str
    peer: str | None
    peer_value: float | None
    ratio: float | None
    target: float
    at_least: bool
    passed: bool
    of_limit: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the file."""
        rounded = {
            key: round(value, 4) if isinstance(value, float) else value
            for key, value in dataclasses.asdict(self).items()
            if key != "passed"
        }
        return {**rounded, "pass": self.passed}


@dataclasses.dataclass(frozen=True)
class Best:
    """The best setting of a contender, or of several, at one task: a cell's median."""

    contender: str
    value: float


def better(unit: str, a: float, b: float) -> float:
    """How many times better `a` is than `b`."""
    return a / b if unit == "frames/s" else b / a


class Figures:
    """Medians of cells, found by what they are of."""

    def __init__(self, cells: Sequence[Mapping[str, Any]]) -> None:
        self.cells = [cell for cell in cells if cell["runs"]]

    def best(self, task: str, clip: str, cores: int, names: Collection[str]) -> Best | None:
        """Of the named contenders, with whichever number of threads; None if none has a figure."""
        found = [
            Best(cell["contender"], cell["median"])
            for cell in self.cells
            if (cell["task"], cell["clip"], cell["cores"]) == (task, clip, cores) and cell["contender"] in names
        ]
        better_first = sorted(found, key=lambda best: best.value, reverse=TASKS[task].unit == "frames/s")
        return better_first[0] if better_first else None

    def ours(self, task: str, clip: str, cores: int) -> Best | None:
        """tricodec's best way."""
        return self.best(task, clip, cores, [name for name in self.contenders if name.startswith("tricodec")])

    def peer(self, task: str, clip: str, cores: int) -> Best | None:
        """The best of the others."""
        return self.best(task, clip, cores, [name for name in self.contenders if not name.startswith("tricodec")])

    @property
    def contenders(self) -> list[str]:
        """All that a user could pick."""
        return list(dict.fromkeys(cell["contender"] for cell in self.cells if cell["contender"] not in REFERENCES))

    def combinations(self) -> list[tuple[str, str, int]]:
        """(clip, task, cores) of every group of cells, in the order of the file."""
        return list(dict.fromkeys((cell["clip"], cell["task"], cell["cores"]) for cell in self.cells))


def compared(name: str, task: str, ours: Best, peer: Best, target: float) -> Goal:
    """A goal about a ratio."""
    ratio = better(TASKS[task].unit, ours.value, peer.value)
    return Goal(name, ours.value, TASKS[task].unit, peer.contender, peer.value, ratio, target, True, ratio >= target)


def judged(name: str, value: float, unit: str, target: float, *, at_least: bool, of_limit: float | None = None) -> Goal:
    """A goal about a figure itself."""
    passed = value >= target if at_least else value <= target
    return Goal(name, value, unit, None, None, None, target, at_least, passed, of_limit)


# On the chief clip: task, which peers, target on one core and on two.
_ALL: tuple[str, ...] = ()
_TORCHCODEC = ("torchcodec", "torchcodec-approximate")
_TARGETS: dict[str, tuple[str, tuple[str, ...], float, float]] = {
    "yuv420p": ("yuv420p", _ALL, 1.0, 1.05),
    "nv12": ("nv12", _ALL, 1.2, 1.3),
    "rgb": ("rgb", _ALL, 1.1, 1.12),
    "rgb_against_torchcodec": ("rgb", _TORCHCODEC, 1.5, 1.5),
    "tensor_antialiased": ("tensor_antialiased", _ALL, 1.08, 1.15),
    "tensor_antialiased_against_torchcodec": ("tensor_antialiased", _TORCHCODEC, 1.5, 1.5),
    "tensor_plain": ("tensor_plain", _ALL, 0.97, 1.03),
    "random": ("random", _ALL, 1.0, 1.0),
    "random_against_torchcodec": ("random", _TORCHCODEC, 1.35, 1.7),
    "every8th": ("every8th", _ALL, 1.3, 1.3),
    "first": ("first", _ALL, 2.0, 2.0),
}


def _on(cores: int) -> str:
    return f"{cores}_core" + "s" * (cores > 1)


def _of_the_chief_clip(figures: Figures) -> Iterator[Goal]:
    for name, (task, peers, *targets) in _TARGETS.items():
        for cores, target in enumerate(targets, 1):
            ours = figures.ours(task, CHIEF, cores)
            peer = figures.best(task, CHIEF, cores, peers) if peers else figures.peer(task, CHIEF, cores)
            if ours and peer:
                yield compared(f"{CHIEF}.{name}.{_on(cores)}", task, ours, peer, target)


def _of_the_other_clips(figures: Figures) -> Iterator[Goal]:
    """No cell below the best peer."""
    for clip, task, cores in figures.combinations():
        ours, peer = figures.ours(task, clip, cores), figures.peer(task, clip, cores)
        if clip != CHIEF and not task.startswith("transform_") and ours and peer:
            yield compared(f"{clip}.{task}.{_on(cores)}", task, ours, peer, 1.0)


def _of_transform(figures: Figures) -> Iterator[Goal]:
    for task, target in (("transform_rgb", 0.6), ("transform_tensor", 0.4)):
        one, two = figures.ours(task, CHIEF, 1), figures.ours(task, CHIEF, 2)
        copy, copies = figures.best(task, CHIEF, 1, ["memcpy"]), figures.best(task, CHIEF, 2, ["memcpy"])
        if one:
            of_limit = copy.value / one.value if copy else None
            yield judged(f"{CHIEF}.{task}", one.value, "ms", target, at_least=False, of_limit=of_limit)
        if one and two:
            of_limit = copies.value / two.value if copies else None
            name = f"{CHIEF}.{task}.two_threads"
            yield judged(name, one.value / two.value, "x", 1.9, at_least=True, of_limit=of_limit)


def _of_readers(figures: Figures) -> Iterator[Goal]:
    one, two = figures.ours("readers", CHIEF, 1), figures.ours("readers", CHIEF, 2)
    if one and two:
        yield judged(f"{CHIEF}.readers.two_threads", two.value / one.value, "x", 1.8, at_least=True)


def _of_memory(figures: Figures) -> Iterator[Goal]:
    """The way in which each task was fastest must also be a small one; the largest of a clip counts."""
    largest: dict[str, float] = {}
    for clip, task, cores in figures.combinations():
        ours = figures.ours(task, clip, cores)
        if task not in _STREAMED or ours is None:
            continue
        for cell in figures.cells:
            of = (cell["clip"], cell["task"], cell["cores"], cell["contender"])
            if of == (clip, task, cores, ours.contender):
                largest[clip] = max(largest.get(clip, 0.0), cell["peak_rss_mb"])
    for clip, megabytes in largest.items():
        yield judged(f"{clip}.peak_memory", megabytes, "MB", _MEMORY_MB, at_least=False)


def of_cells(cells: Sequence[Mapping[str, Any]]) -> list[Goal]:
    """Every goal that the cells of a results file have figures for."""
    figures = Figures(cells)
    parts = (_of_the_chief_clip, _of_the_other_clips, _of_transform, _of_readers, _of_memory)
    return [goal for part in parts for goal in part(figures)]


def of_exactness(results: Sequence[Mapping[str, Any]]) -> Iterator[Goal]:
    """None of our frames is another one."""
    for result in results:
        if result["contender"] == "tricodec":
            name = f"{result['clip']}.random.wrong_frames"
            yield judged(name, len(result["wrong"]), "frames", 0, at_least=False)


def of_equality(clip: str, equal: int, num_frames: int) -> Goal:
    """Every decoded frame has the bytes that ffmpeg gives."""
    return judged(f"{clip}.frames_equal_to_ffmpeg", equal, "frames", num_frames, at_least=True)
