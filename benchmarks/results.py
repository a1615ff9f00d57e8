# SPDX-License-Identifier: Apache-2.0
"""The format of benchmarks/results/*.csv: facts about the run as `# name: value` lines, then one row for each case."""

from __future__ import annotations

import csv
import dataclasses
import importlib.metadata
import io
import statistics
import subprocess
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "results"
_DIGITS = 6  # significant ones
_PEERS = (
    "av", "opencv-python-headless", "decord2", "torch", "torchvision", "torchcodec", "transformers",
    "imageio-ffmpeg", "cramjam", "lz4", "python-snappy", "zstandard", "isal", "deflate",
    "nvidia-dali-cuda130", "nvidia-nvcomp-cu13",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """One contender at one task.

    Attributes:
        task: what is done.
        input: what it is done with: a clip, a codec, a set of data.
        contender: the library that does it.
        setting: what else distinguishes the case: a preset, the size of arrays.
        cores: cores that the process may use; 0 is all.
        threads: threads that the contender is told to use; 0 is its own choice.
        unit: "frames/s", "GB/s" and the like (more is better), or "ms", "MiB" and "% idle" (less is better).
        streams: queries in flight at a time.
    """

    task: str
    input: str
    contender: str
    setting: str = ""
    cores: int = 0
    threads: int = 0
    unit: str = "frames/s"
    streams: int = 1


@dataclasses.dataclass(frozen=True)
class Row(Case):
    """A case with its figure.

    Attributes:
        value: the median of the runs; None if there is no figure, then `note` says why.
        low: the smallest run.
        high: the largest run.
        runs: how many runs there are.
        ratio: uncompressed bytes / compressed bytes; None where nothing is compressed.
        note: in words.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    runs: int = 0
    ratio: float | None = None
    note: str = ""

    @classmethod
    def of(cls, case: Case, values: Sequence[float], ratio: float | None = None, note: str = "") -> Row:
        """The row of a case from the values of its runs, which may be none."""
        median = statistics.median(values) if values else None
        low, high = (min(values), max(values)) if values else (None, None)
        return cls(
            **dataclasses.asdict(case), value=median, low=low, high=high, runs=len(values), ratio=ratio, note=note
        )


def best(rows: Iterable[Row]) -> Row | None:
    """The row with the best figure; None if none has one."""
    found = [row for row in rows if row.value is not None]
    return max(found, key=lambda row: better(row, 1.0), default=None)


def better(row: Row, than: float) -> float:
    """How many times better the row's figure is than a figure in the same unit.

    Raises:
        ValueError: the row has no figure.
    """
    if row.value is None:
        message = f"{row.task} {row.input} {row.contender} has no figure: {row.note}"
        raise ValueError(message)
    return than / row.value if row.unit in ("ms", "MiB", "% idle") else row.value / than


def facts(seconds: float) -> dict[str, str]:
    """The facts that every results file has; `seconds` is how long the run took."""
    from tricodec.measure import bench

    commit = _git("rev-parse", "HEAD") or "unknown"
    changes = "+changes" if _git("status", "--porcelain", "--", ".", ":!benchmarks/results") else ""
    peers = ", ".join(f"{name} {version}" for name in _PEERS if (version := _version(name)))
    return {"commit": commit + changes, "seconds": f"{seconds:.0f}", **bench.environment(), "peers": peers}


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def write(path: Path, known: Mapping[str, str], rows: Iterable[Row]) -> None:
    """Writes facts and rows.

    Raises:
        ValueError: a fact spans lines.
    """
    head = [f"# {name}: {value}\n" for name, value in known.items()]
    if broken := [line for line in head if line.count("\n") > 1]:
        message = f"a fact must be one line: {broken[0]!r}"
        raise ValueError(message)
    names = [field.name for field in dataclasses.fields(Row)]
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_text(getattr(row, name)) for name in names] for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(head) + table.getvalue())


def read(path: Path) -> tuple[dict[str, str], list[Row]]:
    """The facts and the rows of a file.

    Raises:
        ValueError: the columns are not those of a row.
    """
    lines = path.read_text().splitlines()
    head = [line for line in lines if line.startswith("# ")]
    reader = csv.DictReader(lines[len(head) :])
    kinds = typing.get_type_hints(Row)
    if list(reader.fieldnames or ()) != list(kinds):
        message = f"{path} has the columns {reader.fieldnames}; accepted: {list(kinds)}"
        raise ValueError(message)
    rows = [Row(**{name: _value(row[name], kind) for name, kind in kinds.items()}) for row in reader]
    return dict(line[2:].split(": ", 1) for line in head), rows


def _text(value: Any) -> str:
    if value is None or (value == 0 and isinstance(value, int)):
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def _value(text: str, kind: Any) -> Any:
    if kind is str:
        return text
    if kind is int:
        return int(text or 0)
    return float(text) if text else None
