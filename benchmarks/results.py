# SPDX-License-Identifier: Apache-2.0
"""The one format of benchmarks/results/*.csv: facts about the run as `# name: value` lines, then one row a cell."""

from __future__ import annotations

import csv
import dataclasses
import io
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

from benchmarks.environment import environment
from benchmarks.pairs import Spread

FOLDER = Path(__file__).resolve().parent / "results"
_DIGITS = 6  # significant ones


@dataclasses.dataclass(frozen=True)
class Row:
    """One cell: a figure of one contender, or its ratio to another one.

    Attributes:
        task: what is done.
        input: what it is done with: a clip, a codec, a set of data.
        contender: the library that does it.
        setting: what else distinguishes the cell: a preset, a chunk size.
        cores: that the process may use; 0 if all.
        threads: that the contender is told to use; 0 if it chooses.
        against: empty for a figure. Else `value` is how many times better the contender is than this one, by pairs of
            neighboring runs.
        value: the median; None if there is no figure, then `note` says why.
        low: the smallest run; of a ratio the lower quartile of the pairs.
        high: the largest run; of a ratio the upper quartile of the pairs.
        unit: of the three.
        runs: how many runs or pairs there are.
        cpu_ms: CPU time in milliseconds of one frame, or of one megabyte that is compressed.
        memory_mb: peak memory of the process.
        ratio: uncompressed bytes / compressed bytes.
        note: in words.
    """

    task: str
    input: str
    contender: str
    setting: str = ""
    cores: int = 0
    threads: int = 0
    against: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    runs: int = 0
    cpu_ms: float | None = None
    memory_mb: float | None = None
    ratio: float | None = None
    note: str = ""

    @property
    def spread(self) -> Spread:
        """The median, what lies around it, and how many runs or pairs it is of.

        Raises:
            ValueError: if the row has no figure.
        """
        if self.value is None:
            message = f"{self.task} {self.input} {self.contender} has no figure: {self.note}"
            raise ValueError(message)
        low, high = (self.value if bound is None else bound for bound in (self.low, self.high))
        return Spread(self.value, low, high, self.runs)

    def with_runs(self, values: Iterable[float], **more: Any) -> Row:
        """The row with the median, the smallest and the largest of some runs."""
        ordered = sorted(values)
        return dataclasses.replace(
            self, value=Spread.of(ordered).median, low=ordered[0], high=ordered[-1], runs=len(ordered), **more
        )

    def with_ratios(self, ratios: Iterable[float], **more: Any) -> Row:
        """The row with the median and the quartiles of the ratios of some pairs."""
        of = Spread.of(list(ratios))
        return dataclasses.replace(self, value=of.median, low=of.low, high=of.high, unit="x", runs=of.count, **more)


AnyRow = TypeVar("AnyRow")


def _text(value: Any) -> str:
    if value is None or (value == 0 and isinstance(value, int)):
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def write(path: Path, facts: Mapping[str, object], rows: Iterable[Any]) -> None:
    """Writes the facts and the rows, dataclasses of one kind. A fact that is None is left out.

    Raises:
        ValueError: if a fact spans lines, or two rows are of the same cell.
    """
    rows = list(rows)
    lines = [f"# {name}: {value}\n" for name, value in facts.items() if value is not None]
    if broken := [line for line in lines if line.count("\n") > 1]:
        message = f"a fact must be one line: {broken[0]!r}"
        raise ValueError(message)
    names = [field.name for field in dataclasses.fields(rows[0])] if rows else []
    if rows and isinstance(rows[0], Row):
        _check_unique(rows)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_text(getattr(row, name)) for name in names] for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines) + table.getvalue())


def put(path: Path, new: Any, key: Callable[[Any], object]) -> None:
    """Writes what was found on this machine today, in place of the row with the same key; the latest is the last."""
    facts = environment(0)
    new = dataclasses.replace(new, date=str(facts["date"])[:10], commit=str(facts["commit"])[:12])
    known = read(path, type(new))[1] if path.is_file() else []
    machine = {name: facts[name] for name in ("cpu", "cores", "kernel")}
    write(path, machine, [*(row for row in known if key(row) != key(new)), new])


def _check_unique(rows: Iterable[Row]) -> None:
    seen = set()
    for row in rows:
        key = (row.task, row.input, row.contender, row.setting, row.cores, row.threads, row.against)
        if key in seen:
            message = f"two rows are of the same cell: {key}"
            raise ValueError(message)
        seen.add(key)


def _value(text: str, kind: Any) -> Any:
    if kind is str:
        return text
    if kind is int:
        return int(text or 0)
    return float(text) if text else None


@overload
def read(path: Path) -> tuple[dict[str, str], list[Row]]: ...
@overload
def read(path: Path, kind: type[AnyRow]) -> tuple[dict[str, str], list[AnyRow]]: ...
def read(path: Path, kind: type[Any] = Row) -> tuple[dict[str, str], list[Any]]:
    """The facts and the rows of a file.

    Raises:
        ValueError: if the columns are not those of the kind of row.
    """
    lines = path.read_text().splitlines()
    head = [line for line in lines if line.startswith("# ")]
    facts = dict(line[2:].split(": ", 1) for line in head)
    reader = csv.DictReader(lines[len(head) :])
    kinds = typing.get_type_hints(kind)
    if reader.fieldnames is None or list(reader.fieldnames) != list(kinds):
        message = f"{path} has the columns {reader.fieldnames}; accepted: {list(kinds)}"
        raise ValueError(message)
    return facts, [kind(**{name: _value(row[name], kinds[name]) for name in kinds}) for row in reader]
