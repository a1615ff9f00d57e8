# SPDX-License-Identifier: Apache-2.0
"""The goals on a CPU: what each compares, what it must reach, and whether the rows of a results file reach it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence

from benchmarks.decode.plan import CHIEF, REFERENCES, TASKS
from benchmarks.goals import Goal
from benchmarks.pairs import Spread
from benchmarks.results import Row

_MEMORY_MB = 150.0
# Tasks with memory that is ours to bound: the others' answers, or their own ring of pictures, are larger.
_STREAMED = ("yuv420p", "nv12", "rgb", "tensor_antialiased", "tensor_plain", "first")


@dataclasses.dataclass(frozen=True)
class Best:
    """The best setting of a contender, or of several, at one task: the median of its row."""

    contender: str
    value: float
    memory_mb: float


def better(unit: str, a: float, b: float) -> float:
    """How many times better `a` is than `b`."""
    return a / b if unit == "frames/s" else b / a


def opponent(peer: str, cores: int, peer_cores: int) -> str:
    """What a row of pairs says that it is against."""
    return peer if cores == peer_cores else f"{peer} on {peer_cores}"


class Figures:
    """Medians and ratios of pairs, found by what they are of."""

    def __init__(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        self._cells = [row for row in rows if row.task in TASKS and not row.against and row.value is not None]
        self._pairs = {(row.task, row.input, row.cores, row.contender, row.against): row for row in rows if row.against}

    def ratios(self, contest: Contest, ours: str, peer: str) -> Spread | None:
        """How many times better ours was than the peer in the pairs of neighboring runs; None if there was none."""
        against = opponent(peer, contest.cores, contest.peer_cores)
        row = self._pairs.get((contest.task, contest.clip, contest.cores, ours, against))
        return row.spread if row else None

    def best(self, task: str, clip: str, cores: int, names: Collection[str]) -> Best | None:
        """Of the named contenders, with whichever number of threads; None if none has a figure."""
        found = [
            Best(row.contender, row.spread.median, row.memory_mb or 0.0)
            for row in self._cells
            if (row.task, row.input, row.cores) == (task, clip, cores) and row.contender in names
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
        return list(dict.fromkeys(row.contender for row in self._cells if row.contender not in REFERENCES))

    def combinations(self) -> list[tuple[str, str, int]]:
        """(clip, task, cores) of every group of cells, in the order of the file."""
        return list(dict.fromkeys((row.input, row.task, row.cores) for row in self._cells))


@dataclasses.dataclass(frozen=True)
class Result:
    """What a contest gave: the best two, how many times better ours is, and the pairs of which that is the median."""

    ours: Best
    peer: Best
    ratio: float
    pairs: Spread | None


@dataclasses.dataclass(frozen=True)
class Contest:
    """A ratio that a goal is about: tricodec's best way at a task to the best of some peers.

    Attributes:
        goal: its name.
        task: of plan.TASKS.
        clip: of clips.RECIPES.
        cores: that ours had.
        target: that the ratio must reach.
        peers: the contenders that are compared; all if none is named.
        peer_cores: that they had: one, where two threads are compared with one, and as many as ours elsewhere.
    """

    goal: str
    task: str
    clip: str
    cores: int
    target: float
    peers: tuple[str, ...]
    peer_cores: int

    def result(self, figures: Figures) -> Result | None:
        """The best by the medians, and the ratio, by the pairs where there are any; None without figures."""
        ours = figures.ours(self.task, self.clip, self.cores)
        if self.cores != self.peer_cores:
            peer = figures.ours(self.task, self.clip, self.peer_cores)
        elif self.peers:
            peer = figures.best(self.task, self.clip, self.cores, self.peers)
        else:
            peer = figures.peer(self.task, self.clip, self.cores)
        if ours is None or peer is None:
            return None
        pairs = figures.ratios(self, ours.contender, peer.contender)
        ratio = pairs.median if pairs else better(TASKS[self.task].unit, ours.value, peer.value)
        return Result(ours, peer, ratio, pairs)

    def to_goal(self, figures: Figures) -> Goal | None:
        """Whether the ratio reaches its target; None without figures."""
        found = self.result(figures)
        if found is None:
            return None
        of_limit = None
        if self.cores != self.peer_cores:
            copies = figures.best(self.task, self.clip, self.cores, ["memcpy"])
            of_limit = copies.value / found.ours.value if copies else None
        against = opponent(found.peer.contender, self.cores, self.peer_cores)
        return Goal(
            self.goal, found.ours.value, TASKS[self.task].unit, self.target, against, found.peer.value, found.ratio,
            of_limit=of_limit, pairs=found.pairs,
        )  # fmt: skip


# On the chief clip: task, which peers, target on one core and on two.
_ALL: tuple[str, ...] = ()
_TORCHCODEC = ("torchcodec", "torchcodec-approximate")
_TARGETS: dict[str, tuple[str, tuple[str, ...], float, float]] = {
    "yuv420p": ("yuv420p", _ALL, 1.0, 1.0),
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
_TWO_THREADS = {"transform_rgb": 1.9, "transform_tensor": 1.9, "readers": 1.8}
_MOST_MS = {"transform_rgb": 0.6, "transform_tensor": 0.4}


def _on(cores: int) -> str:
    return f"{cores}_core" + "s" * (cores > 1)


def _of_the_chief_clip() -> Iterator[Contest]:
    for name, (task, peers, *targets) in _TARGETS.items():
        for cores, target in enumerate(targets, 1):
            yield Contest(f"{CHIEF}.{name}.{_on(cores)}", task, CHIEF, cores, target, peers, cores)


def against_all(task: str, clip: str, cores: int) -> Contest:
    """Not below the best peer."""
    return Contest(f"{clip}.{task}.{_on(cores)}", task, clip, cores, 1.0, _ALL, cores)


def _of_the_other_clips(figures: Figures) -> Iterator[Contest]:
    for clip, task, cores in figures.combinations():
        if clip != CHIEF and not task.startswith("transform_"):
            yield against_all(task, clip, cores)


def _of_two_threads() -> Iterator[Contest]:
    for task, target in _TWO_THREADS.items():
        yield Contest(f"{CHIEF}.{task}.two_threads", task, CHIEF, 2, target, _ALL, 1)


def contests(figures: Figures) -> list[Contest]:
    """Every goal that is about a ratio, whether or not there are figures for it."""
    return [*_of_the_chief_clip(), *_of_the_other_clips(figures), *_of_two_threads()]


def _of_transform(figures: Figures) -> Iterator[Goal]:
    for task, target in _MOST_MS.items():
        one, copy = figures.ours(task, CHIEF, 1), figures.best(task, CHIEF, 1, ["memcpy"])
        if one:
            of_limit = copy.value / one.value if copy else None
            yield Goal(f"{CHIEF}.{task}", one.value, "ms", target, at_least=False, of_limit=of_limit)


def _of_memory(figures: Figures) -> Iterator[Goal]:
    """The way in which each task was fastest must also be a small one; the largest of a clip counts."""
    largest: dict[str, float] = {}
    for clip, task, cores in figures.combinations():
        ours = figures.ours(task, clip, cores)
        if task in _STREAMED and ours:
            largest[clip] = max(largest.get(clip, 0.0), ours.memory_mb)
    for clip, megabytes in largest.items():
        yield Goal(f"{clip}.peak_memory", megabytes, "MB", _MEMORY_MB, at_least=False)


def _of_exactness(rows: Sequence[Row]) -> Iterator[Goal]:
    """Every decoded frame has the bytes that ffmpeg gives, and none of our random frames is another one."""
    for row in rows:
        if row.task == "equal" and row.value is not None:
            yield Goal(f"{row.input}.frames_equal_to_ffmpeg", row.value, "frames", float(row.runs))
        elif row.task == "wrong" and row.contender == "tricodec" and row.value is not None:
            yield Goal(f"{row.input}.random.wrong_frames", row.value, "frames", 0.0, at_least=False)


def of_rows(rows: Sequence[Row]) -> list[Goal]:
    """Every goal that the rows of a results file have figures for."""
    figures = Figures(rows)
    found = [goal for contest in contests(figures) if (goal := contest.to_goal(figures))]
    return [*_of_exactness(rows), *found, *_of_transform(figures), *_of_memory(figures)]
