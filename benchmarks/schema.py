# SPDX-License-Identifier: Apache-2.0
"""The one format of benchmarks/results/*.json (docs/benchmarks.md), and where its parts come from."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = ("numpy", "av", "nvidia-dali-cuda130", "tritonclient", "torch")


@dataclasses.dataclass(frozen=True)
class Record:
    """One measurement.

    Attributes:
        name: what was measured, "area.case".
        unit: of the samples; a rate ("frames/s") or a time ("ms").
        samples: one number a repetition, in the order they were taken.
        peers: the median of other software in the same unit, taken in turn with ours.
    """

    name: str
    unit: str
    samples: list[float]
    peers: dict[str, float]

    @property
    def median(self) -> float:
        """The middle of the samples."""
        return statistics.median(self.samples)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {
            "name": self.name,
            "unit": self.unit,
            "samples": [round(sample, 6) for sample in self.samples],
            "median": round(self.median, 6),
            "peers": {peer: round(median, 6) for peer, median in self.peers.items()},
        }


@dataclasses.dataclass(frozen=True)
class Goal:
    """Something that must hold, and whether it does."""

    name: str
    value: float
    goal: float
    met: bool

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the file."""
        return dataclasses.asdict(self)


def _command(*command: str) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout.strip() or None if result.returncode == 0 else None


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit() -> str:
    commit = _command("git", "rev-parse", "HEAD")
    if commit is None:
        return "unknown"
    changes = _command("git", "status", "--porcelain", "--", ".", ":!benchmarks/results")
    return commit + ("+changes" if changes else "")


def _libraries() -> dict[str, str]:
    import tricodec

    versions = {"python": platform.python_version(), "tricodec": tricodec.__version__}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    for line in tricodec.build_info().splitlines():
        name, _, value = line.partition(":")
        if name.strip().startswith("libav"):
            versions[name.strip()] = value.strip()
    ffmpeg = _command("ffmpeg", "-version")
    if ffmpeg:
        versions["ffmpeg"] = ffmpeg.split()[2]
    return versions


def environment() -> dict[str, Any]:
    """The machine and the software of this run; what is not there is null."""
    gpu = _command("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, _, driver = (gpu.splitlines()[0] if gpu else "").partition(", ")
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "gpu": name or None,
        "driver": driver or None,
        "libraries": _libraries(),
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def document(records: Sequence[Record], goals: Sequence[Goal]) -> dict[str, Any]:
    """A results file's content."""
    return {
        "environment": environment(),
        "records": [record.to_dict() for record in records],
        "goals": [goal.to_dict() for goal in goals],
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Validates and writes a results file.

    Raises:
        ValueError: if the content does not have the format.
    """
    problems = validate(content)
    if problems:
        message = f"{path} would not have the format: {'; '.join(problems)}"
        raise ValueError(message)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _numbers_by_name(value: object) -> bool:
    return isinstance(value, dict) and all(_text(name) and _number(number) for name, number in value.items())


_ENVIRONMENT: dict[str, Callable[[Any], bool]] = {
    "cpu": _text,
    "cores": lambda value: isinstance(value, int) and value >= 1,
    "gpu": lambda value: value is None or _text(value),
    "driver": lambda value: value is None or _text(value),
    "libraries": lambda value: isinstance(value, dict) and all(_text(k) and _text(v) for k, v in value.items()),
    "commit": lambda value: isinstance(value, str) and bool(re.fullmatch(r"unknown|[0-9a-f]{40}(\+changes)?", value)),
    "date": lambda value: (
        isinstance(value, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", value))
    ),
}
_RECORD: dict[str, Callable[[Any], bool]] = {
    "name": _text,
    "unit": _text,
    "samples": lambda value: isinstance(value, list) and len(value) > 0 and all(map(_number, value)),
    "median": _number,
    "peers": _numbers_by_name,
}
_GOAL: dict[str, Callable[[Any], bool]] = {
    "name": _text,
    "value": _number,
    "goal": _number,
    "met": lambda value: isinstance(value, bool),
}


def _check(where: str, value: object, fields: dict[str, Callable[[Any], bool]]) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where} is not an object"]
    problems = [f"{where} has no {name}" for name in fields if name not in value]
    problems += [f"{where} has {name}, which is not known" for name in value if name not in fields]
    problems += [
        f"{where}.{name} is {value[name]!r}"
        for name, valid in fields.items()
        if name in value and not valid(value[name])
    ]
    return problems


def validate(content: object) -> list[str]:
    """What is wrong with a results file; empty if nothing."""
    parts: dict[str, Callable[[Any], bool]] = {
        "environment": lambda value: isinstance(value, dict),
        "records": lambda value: isinstance(value, list),
        "goals": lambda value: isinstance(value, list),
    }
    problems = _check("file", content, parts)
    if problems or not isinstance(content, dict):
        return problems
    problems = _check("environment", content["environment"], _ENVIRONMENT)
    for kind, fields in (("records", _RECORD), ("goals", _GOAL)):
        for number, entry in enumerate(content[kind]):
            problems += _check(f"{kind}[{number}]", entry, fields)
    if problems:
        return problems
    for record in content["records"]:
        if abs(statistics.median(record["samples"]) - record["median"]) > 1e-5:
            problems.append(f"{record['name']}: median {record['median']} is not that of its samples")
    for kind in ("records", "goals"):
        names = [entry["name"] for entry in content[kind]]
        problems += [f"{kind} has {name} twice" for name in sorted({name for name in names if names.count(name) > 1})]
    return problems
