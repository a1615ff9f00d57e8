# SPDX-License-Identifier: Apache-2.0
"""Figures of a results file beside one another, and the lines of a table."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence

from benchmarks.results import FOLDER, Row, best, better, read


@dataclasses.dataclass(frozen=True)
class Results:
    """A results file.

    Attributes:
        facts: facts about the run.
        rows: its rows.
        on_gpu: whether a GPU did the work.
    """

    facts: dict[str, str]
    rows: list[Row]
    on_gpu: bool = False

    @property
    def where(self) -> str:
        """The machine and the date, in words."""
        machine = self.facts["gpu"] if self.on_gpu else f"{self.facts['cores']} cores of an {self.facts['cpu']}"
        return f"{machine}, {self.facts['date'][:10]}"

    def names(self, attribute: str) -> list[str]:
        """The values of an attribute of the rows, in the order of the file."""
        return list(dict.fromkeys(getattr(row, attribute) for row in self.rows))

    def contest(self, **wanted: object) -> Contest | None:
        """The best of tricodec's rows and of the others' with these attributes; None if one side has no figure."""
        rows = [row for row in self.rows if all(getattr(row, name) == value for name, value in wanted.items())]
        ours = best(row for row in rows if row.contender.startswith("tricodec"))
        peer = best(row for row in rows if not row.contender.startswith("tricodec"))
        return Contest(ours, peer) if ours and peer else None


@functools.cache
def results(name: str) -> Results:
    """The results file of this name."""
    return Results(*read(FOLDER / f"{name}.csv"), on_gpu=name.endswith("gpu"))


@dataclasses.dataclass(frozen=True)
class Contest:
    """The best of tricodec's ways and the best peer at a task."""

    ours: Row
    peer: Row

    @property
    def values(self) -> tuple[float, float]:
        """Both figures as they are printed."""
        assert self.ours.value is not None
        assert self.peer.value is not None
        digits = 0 if min(self.ours.value, self.peer.value) >= 20 else 1
        return round(self.ours.value, digits), round(self.peer.value, digits)

    @property
    def ratio(self) -> float:
        """How many times better the printed figure of tricodec is than that of the peer."""
        return better(dataclasses.replace(self.ours, value=self.values[0]), self.values[1])

    @property
    def exact_ratio(self) -> float:
        """The ratio of the figures before they are rounded."""
        assert self.peer.value is not None
        return better(self.ours, self.peer.value)

    def printed(self, unit: str = "") -> tuple[str, str]:
        """Both figures with their unit."""
        digits = 0 if min(self.values) >= 20 else 1
        unit = unit or {"frames/s": "fps"}.get(self.ours.unit, self.ours.unit)
        first, second = (f"{value:,.{digits}f} {unit}" for value in self.values)
        return first, second


def header(cells: Sequence[str]) -> str:
    """The first two lines of a table in Markdown."""
    return line(cells) + "|---" * len(cells) + "|\n"


def line(cells: Iterable[str]) -> str:
    """A line of a table in Markdown."""
    return "| " + " | ".join(cells) + " |\n"
