# SPDX-License-Identifier: Apache-2.0
"""The goals: what each compares, what it must reach, and whether the figures reach it."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pairs
from plan import CHIEF, REFERENCES, TASKS

_MEMORY_MB = 150.0
# Tasks whose memory is ours to bound: the others' answers, or their own ring of pictures, are larger.
_STREAMED = ("yuv420p", "nv12", "rgb", "tensor_antialiased", "tensor_plain", "first")
#: What the quartiles of ratios of pairs are apart here at least, where they are many (benchmarks/results/encode.json):
#: few that agree by chance decide nothing.
_LEAST_SPREAD = 0.06
#: How far single figures of the same cell, and so single ratios, have been off on a virtual machine.
_SAFE = 1.25
FEWEST_PAIRS = 3


def is_decided(ratios: Sequence[float], target: float) -> bool:
    """Whether pairs say on which side of the target the ratio is; one or two do if they are far from it."""
    relative = [ratio / target for ratio in ratios]
    if len(relative) < FEWEST_PAIRS:
        return min(relative) > _SAFE or max(relative) < 1 / _SAFE
    return pairs.excludes(relative, 1.0, least_spread=_LEAST_SPREAD)


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
        ratios: of the pairs of neighboring runs whose median is the ratio (or the value, of two threads by one); none
            where the figures are so far from the target that they were not measured in pairs.
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
    ratios: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the file."""
        rounded = {
            key: round(value, 4) if isinstance(value, float) else value
            for key, value in dataclasses.asdict(self).items()
            if key not in ("passed", "ratios")
        }
        spread: dict[str, Any] = {}
        if self.ratios:
            low, _, high = pairs.quartiles(self.ratios)
            spread = {
                "pairs": len(self.ratios),
                "ratio_quartiles": [round(low, 4), round(high, 4)],
                "decided": is_decided(self.ratios, self.target),
            }
        return {**rounded, **spread, "pass": self.passed}


@dataclasses.dataclass(frozen=True)
class Best:
    """The best setting of a contender, or of several, at one task: a cell's median."""

    contender: str
    value: float


def better(unit: str, a: float, b: float) -> float:
    """How many times better `a` is than `b`."""
    return a / b if unit == "frames/s" else b / a


class Figures:
    """Medians of cells and ratios of pairs, found by what they are of."""

    def __init__(self, cells: Sequence[Mapping[str, Any]], paired: Sequence[Mapping[str, Any]] = ()) -> None:
        self.cells = [cell for cell in cells if cell["runs"]]
        self.paired = paired

    def ratios(self, contest: Contest, ours: str, peer: str) -> tuple[float, ...]:
        """How many times better ours was than the peer in each pair of neighboring runs; none if there was none."""
        wanted = (contest.task, contest.clip, ours, contest.cores, peer, contest.peer_cores)
        for pair in self.paired:
            if tuple(pair[key] for key in ("task", "clip", "ours", "cores", "peer", "peer_cores")) == wanted:
                return tuple(pair["ratios"])
        return ()

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


@dataclasses.dataclass(frozen=True)
class Contest:
    """A ratio that a goal is about: tricodec's best way at a task to the best of some peers.

    Attributes:
        goal: its name.
        task: of plan.TASKS.
        clip: of clips.RECIPES.
        cores: that ours had.
        target: that the ratio must reach.
        peers: who is compared; all if none is named.
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
        """Who is the best by the medians, and the ratio, by the pairs where there are any; None without figures."""
        ours = figures.ours(self.task, self.clip, self.cores)
        if self.cores != self.peer_cores:
            peer = figures.ours(self.task, self.clip, self.peer_cores)
        elif self.peers:
            peer = figures.best(self.task, self.clip, self.cores, self.peers)
        else:
            peer = figures.peer(self.task, self.clip, self.cores)
        if ours is None or peer is None:
            return None
        ratios = figures.ratios(self, ours.contender, peer.contender)
        ratio = statistics.median(ratios) if ratios else better(TASKS[self.task].unit, ours.value, peer.value)
        return Result(ours, peer, ratio, ratios)

    def to_goal(self, figures: Figures) -> Goal | None:
        """Whether the ratio reaches its target; None without figures."""
        found = self.result(figures)
        if found is None:
            return None
        ours, peer, unit, passed = found.ours, found.peer, TASKS[self.task].unit, found.ratio >= self.target
        if self.cores == self.peer_cores:
            return Goal(self.goal, ours.value, unit, peer.contender, peer.value, found.ratio, self.target, True, passed,
                        ratios=found.ratios)  # fmt: skip
        copies = figures.best(self.task, self.clip, self.cores, ["memcpy"])
        of_limit = copies.value / ours.value if copies else None
        return Goal(self.goal, found.ratio, "x", None, None, None, self.target, True, passed, of_limit, found.ratios)


@dataclasses.dataclass(frozen=True)
class Result:
    """What a contest gave: the best two, how many times better ours is, and the ratios whose median that is."""

    ours: Best
    peer: Best
    ratio: float
    ratios: tuple[float, ...]


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


def _of_transform(figures: Figures, task: str) -> Iterator[Goal]:
    one, copy = figures.ours(task, CHIEF, 1), figures.best(task, CHIEF, 1, ["memcpy"])
    if one and task in _MOST_MS:
        of_limit = copy.value / one.value if copy else None
        yield judged(f"{CHIEF}.{task}", one.value, "ms", _MOST_MS[task], at_least=False, of_limit=of_limit)


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


def of_cells(cells: Sequence[Mapping[str, Any]], paired: Sequence[Mapping[str, Any]] = ()) -> list[Goal]:
    """Every goal that the cells and the pairs of a results file have figures for."""
    figures = Figures(cells, paired)
    found: list[Goal] = []
    for contest in contests(figures):
        if contest.cores != contest.peer_cores:
            found += _of_transform(figures, contest.task)
        goal = contest.to_goal(figures)
        found += [goal] if goal else []
    return [*found, *_of_memory(figures)]


def of_exactness(results: Sequence[Mapping[str, Any]]) -> Iterator[Goal]:
    """None of our frames is another one."""
    for result in results:
        if result["contender"] == "tricodec":
            name = f"{result['clip']}.random.wrong_frames"
            yield judged(name, len(result["wrong"]), "frames", 0, at_least=False)


def of_equality(clip: str, equal: int, num_frames: int) -> Goal:
    """Every decoded frame has the bytes that ffmpeg gives."""
    return judged(f"{clip}.frames_equal_to_ffmpeg", equal, "frames", num_frames, at_least=True)
