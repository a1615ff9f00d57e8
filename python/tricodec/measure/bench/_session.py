# SPDX-License-Identifier: Apache-2.0
"""A session of measurements: every case of a sweep, or the search for the highest load within a latency."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import tricodec
from tricodec.measure.bench._figures import Figures, knee, needed_values, percentile_of
from tricodec.measure.bench._load import Clock, Load, Rules, Work, run

_PROFILE_SECONDS = 0.1
_MOST_VALUES = 1000

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Engine:
    """A kind of work that is measured."""

    name: str
    """The sub-command."""
    scope: str
    """Where a query starts and where it ends."""
    settings: dict[str, str]
    """What the queries ask for."""
    open: Callable[[int, int], AbstractContextManager[Work]]
    """Makes the context of one stream from the frames or arrays of a query and the threads of each codec; 0 is a
    default."""
    profiled: bool = True
    """Whether the stages of the work run in this process."""
    facts: Callable[[], dict[str, Any]] = dict
    """Further facts of the latest case, such as the times of a server."""


@dataclass(frozen=True)
class Case:
    """One point of a sweep."""

    threads: int
    batch: int
    load: Load

    def values(self) -> dict[str, float]:
        """The values by the name of their dimension: "threads", "batch", and "rate" or "concurrency"."""
        rate = self.load.rate
        load = {"concurrency": self.load.concurrency} if rate is None else {"rate": rate}
        return {"threads": self.threads, "batch": self.batch, **load}


@dataclass(frozen=True)
class Measured:
    """A case with its figures."""

    case: Case
    figures: Figures
    stages: dict[str, dict[str, float]]
    """By stage of a `tricodec.Profiler`, in a further run: calls, seconds and gpu_seconds, by CUDA events."""
    facts: dict[str, Any]
    """Further facts of the engine."""
    latencies: tuple[float, ...] = field(repr=False, default=())
    """Every latency in seconds, in the order of the ends."""


def cases_of(
    threads: Sequence[int] = (0,),
    batch: Sequence[int] = (0,),
    concurrency: Sequence[int] = (1,),
    rates: Sequence[float] = (),
    max_threads: int = 16,
) -> list[Case]:
    """Every combination of ascending values. Rates, if there are any, have at most `max_threads` queries in flight."""
    loads = [Load(max_threads, rate) for rate in rates] or [Load(each) for each in concurrency]
    return [Case(*each) for each in itertools.product(threads, batch, loads)]


@dataclass(frozen=True)
class Knee:
    """The smallest value of a dimension with 90 % of the best throughput, which larger values hardly exceed."""

    dimension: str
    """ "threads", "batch", "concurrency" or "rate"."""
    value: float
    others: dict[str, float]
    """The values of the other dimensions."""


@dataclass(frozen=True)
class Threshold:
    """The result of the search for the highest load within a latency."""

    milliseconds: float
    percentile: float
    case: Case | None
    """The highest load within the bound; None if the lowest one is outside."""


class Session:
    """Measures the cases of a sweep. `say` receives each result, and `clock` is for tests."""

    def __init__(
        self,
        engine: Engine,
        rules: Rules,
        say: Callable[[Measured], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        self._engine = engine
        self._rules = rules
        self._say = say
        self._clock = clock
        self.results: list[Measured] = []
        """The measured cases, in the order of measurement."""
        self.threshold: Threshold | None = None

    def measure(self, case: Case, rules: Rules | None = None) -> Measured:
        """Measure one case and keep its result."""
        windows = run(lambda: self._engine.open(case.batch, case.threads), case.load, rules or self._rules, self._clock)
        latencies = tuple(query.latency for window in windows.latest for query in window.queries)
        measured = Measured(case, Figures.of(windows), self._stages(case), self._engine.facts(), latencies)
        self.results.append(measured)
        self._say(measured)
        return measured

    def search(self, cases: Sequence[Case], milliseconds: float, percentile: float) -> Threshold:
        """Find the highest load of some cases with a percentile of the latency within a bound, by bisection.

        Each measurement has enough queries for the percentile.
        """
        if len({(case.threads, case.batch) for case in cases}) > 1:
            raise ValueError("a latency threshold searches the load; give one value of --threads and of --batch")
        if not milliseconds > 0:
            raise ValueError(f"a latency threshold of {milliseconds:g} ms is not accepted; it must be more than 0")
        rules = dataclasses.replace(self._rules, iterations=max(self._rules.iterations, needed_values(percentile)))

        def is_within(number: int) -> bool:
            measured = self.measure(cases[number], rules)
            latency = percentile_of(sorted(measured.latencies), percentile)
            return measured.figures.stable and latency is not None and latency * 1000 <= milliseconds

        within = bisect.bisect_left(range(len(cases)), True, key=lambda number: not is_within(number))
        self.threshold = Threshold(milliseconds, percentile, cases[within - 1] if within else None)
        return self.threshold

    @property
    def stable(self) -> bool:
        """Whether the figures that count are stable: all of a sweep, or that which a search has found."""
        if self.threshold is not None:
            return self.threshold.case is not None or self.results[-1].figures.stable  # of the lowest load
        return all(measured.figures.stable for measured in self.results)

    def knees(self) -> list[Knee]:
        """The knee of each swept dimension, for each combination of the other dimensions.

        There is none of a search, and none where figures are not stable.
        """
        if self.threshold is not None or not self.stable:
            return []
        found = []
        for name in ("threads", "batch", "concurrency", "rate"):
            groups: dict[tuple[tuple[str, float], ...], list[tuple[float, float]]] = {}
            for each in self.results:
                values = each.case.values()
                value = values.pop(name, None)
                if value is not None:
                    groups.setdefault(tuple(values.items()), []).append((value, each.figures.throughput))
            found += [
                Knee(name, knee([value for value, _ in points], [each for _, each in points]), dict(others))
                for others, points in groups.items()
                if len(points) > 1
            ]
        return found

    def _stages(self, case: Case) -> dict[str, dict[str, float]]:
        """Times of the stages for each query, in a run after the measurement that does not count."""
        if not self._engine.profiled:
            return {}
        now = (self._clock or Clock()).now
        queries = 0
        with self._engine.open(case.batch, case.threads) as work:
            work()  # fills caches
            with tricodec.Profiler() as profiler:
                end = now() + _PROFILE_SECONDS
                while queries == 0 or now() < end:
                    work()
                    queries += 1
        names = ("calls", "seconds", "gpu_seconds")
        stages = profiler.stages.items()
        return {stage: {name: getattr(time, name) / queries for name in names} for stage, time in stages}


def parse_range(text: str, kind: Callable[[str], Number]) -> list[Number]:
    """The values of "4", "1,2,8", "1:8" (each), "1:8:2" (steps) or "1:64:x2" (doubled each time).

    The last value of a range is included if a step reaches it. Values are positive and ascending, of the type `kind`.
    """
    first, *others = text.split(":")
    try:
        if others:
            last, step = others if len(others) > 1 else (*others, "1")
            steps = _steps(kind(first), kind(last), step, kind)  # perhaps without end, which is refused below
            values = list(itertools.islice(steps, _MOST_VALUES + 1))
        else:
            values = [kind(each) for each in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) <= 0 or values != sorted(set(values)) or len(values) > _MOST_VALUES:
        raise ValueError(
            f"{text!r} is not accepted; write a positive number, an ascending list such as 1,2,8, or a range: 1:8, "
            f"1:8:2 (FIRST:LAST:STEP) or 1:64:x2 (doubled each time), of at most {_MOST_VALUES} values"
        )
    return values


def _steps(value: Number, last: Number, step: str, kind: Callable[[str], Number]) -> Iterator[Number]:
    factor, increment = (kind(step[1:]), kind("0")) if step.startswith("x") else (kind("1"), kind(step))
    while value <= last:
        yield value
        value = value * factor + increment
