# SPDX-License-Identifier: Apache-2.0
"""A goal: a figure, or its ratio to another one, and what it must be. Goals are judged from rows and stored nowhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from benchmarks.pairs import Spread


@dataclasses.dataclass(frozen=True)
class Goal:
    """Something to be reached.

    Attributes:
        name: of the goal.
        value: tricodec's figure.
        unit: of it.
        target: what the ratio, or the value if it is compared with nothing, must be; None if it is only shown.
        against: what the value is compared with; empty if the value itself is judged.
        against_value: the figure of that in the same unit.
        ratio: how many times better tricodec is; below 1 it is worse.
        at_least: whether it must be no less than the target, or no more.
        of_limit: where something other than our code is the limit, the part of it that is reached.
        pairs: of neighboring runs, their median is judged; None if the figures are far from the target and not paired.
    """

    name: str
    value: float
    unit: str
    target: float | None
    against: str = ""
    against_value: float | None = None
    ratio: float | None = None
    at_least: bool = True
    of_limit: float | None = None
    pairs: Spread | None = None

    @property
    def judged(self) -> float:
        """What is compared with the target."""
        return self.value if self.ratio is None else self.ratio

    @property
    def passed(self) -> bool:
        """Whether it is reached."""
        if self.target is None:
            return True
        return self.judged >= self.target if self.at_least else self.judged <= self.target

    @property
    def decided(self) -> bool:
        """Whether the pairs say on which side of the target it is."""
        return self.pairs is None or self.target is None or self.pairs.excludes(self.target)

    def describe(self) -> str:
        """One line."""
        against = f" against {self.against}" if self.against else ""
        if self.pairs:
            told = "" if self.decided else ", which do not decide"
            against += f" ({self.pairs.low:.3f} to {self.pairs.high:.3f}, pairs: {self.pairs.count}{told})"
        wanted = "" if self.target is None else f", wanted {'>=' if self.at_least else '<='} {self.target:g}"
        return f"{'reached' if self.passed else 'MISSED'} {self.name}: {self.judged:.3f}{against}{wanted}"


def counted(goals: Sequence[Goal]) -> str:
    """How many are reached, in words for a document."""
    judged = [goal for goal in goals if goal.target is not None]
    return f"{sum(goal.passed for goal in judged)} of {len(judged)} goals reached"


def header(cells: Sequence[str]) -> str:
    """The first two lines of a table in Markdown."""
    return line(cells) + "|---" * len(cells) + "|\n"


def line(cells: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return "| " + " | ".join(cells) + " |\n"


def table(goals: Sequence[Goal]) -> str:
    """The goals in Markdown."""
    lines = [header(["goal", "tricodec", "against", "ratio", "wanted", "reached"])]
    for goal in goals:
        against = goal.against or "-"
        if goal.against_value is not None and goal.against_value != 1:
            against += f" {goal.against_value:.4g}"
        ratio = "-" if goal.ratio is None else f"{goal.ratio:.3f}"
        if goal.pairs:
            ratio += f" ({goal.pairs.low:.3f} to {goal.pairs.high:.3f} in {goal.pairs.count})"
        wanted, verdict = "-", "-"
        if goal.target is not None:
            wanted = f"{'>=' if goal.at_least else '<='} {goal.target:g}"
            verdict = ("yes" if goal.passed else "**no**") + ("" if goal.decided else ", not decided")
        if goal.of_limit is not None:
            verdict += f" (limit: {goal.of_limit:.2f})"
        lines.append(line([goal.name, f"{goal.value:.4g} {goal.unit}", against, ratio, wanted, verdict]))
    return "".join(lines)
