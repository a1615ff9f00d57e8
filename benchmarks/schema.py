# SPDX-License-Identifier: Apache-2.0
"""The one format of benchmarks/results/*.json (docs/benchmarks.md): made, validated, written."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from driver import Run
from goals import better
from plan import TASKS, Cell

_CHECKS = dict[str, Callable[[Any], bool]]


def cell_entry(cell: Cell, runs: Sequence[Run], failure: str | None) -> dict[str, Any]:
    """A cell and its figures as they stand in the file."""
    values = [round(run.value, 3) for run in runs]
    return {
        "task": cell.task,
        "clip": cell.clip,
        "contender": cell.contender,
        "cores": cell.cores,
        "threads": cell.threads,
        "unit": TASKS[cell.task].unit,
        "median": statistics.median(values) if runs else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "cpu_ms": round(statistics.median(run.cpu_ms for run in runs), 3) if runs else None,
        "peak_rss_mb": round(max(run.peak_rss_mb for run in runs), 1) if runs else None,
        "failed": failure,
        "runs": [
            {
                "value": round(run.value, 3),
                "cpu_ms": round(run.cpu_ms, 3),
                "peak_rss_mb": round(run.peak_rss_mb, 1),
                "faults": round(run.faults, 1),
                "noise": round(run.noise, 3),
                "check": run.check,
            }
            for run in runs
        ],
    }


def pair_entry(ours: Cell, peer: Cell, ratios: Sequence[float]) -> dict[str, Any]:
    """The ratios of two cells that ran side by side, as they stand in the file."""
    rounded = [round(ratio, 4) for ratio in ratios]
    return {
        "task": ours.task,
        "clip": ours.clip,
        "ours": ours.contender,
        "cores": ours.cores,
        "peer": peer.contender,
        "peer_cores": peer.cores,
        "ratio": round(statistics.median(rounded), 4),
        "ratios": rounded,
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Validates and writes a results file, each cell and goal on a line of its own.

    Raises:
        ValueError: if the content does not have the format.
    """
    problems = validate(content)
    if problems:
        message = f"{path} would not have the format: {'; '.join(problems)}"
        raise ValueError(message)
    parts = []
    for name, part in content.items():
        if isinstance(part, list) and part:
            lines = ",\n    ".join(json.dumps(entry) for entry in part)
            parts.append(f"{json.dumps(name)}: [\n    {lines}\n  ]")
        else:
            parts.append(f"{json.dumps(name)}: {json.dumps(part, indent=2)}".replace("\n", "\n  "))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n  " + ",\n  ".join(parts) + "\n}\n")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _number_or_null(value: object) -> bool:
    return value is None or _number(value)


def _text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _text_or_null(value: object) -> bool:
    return value is None or _text(value)


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(_text(name) and _text(text) for name, text in value.items())


def _ratios(value: object) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(_number(ratio) and ratio > 0 for ratio in value)


def _objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


_FILE: _CHECKS = {
    "environment": lambda value: isinstance(value, dict),
    "content": _text,
    "clips": lambda value: isinstance(value, dict) and all(isinstance(facts, dict) for facts in value.values()),
    "tasks": _texts,
    "contenders": lambda value: isinstance(value, dict) and all(isinstance(entry, dict) for entry in value.values()),
    "cells": _objects,
    "pairs": _objects,
    "exactness": _objects,
    "goals": _objects,
}
_ENVIRONMENT: _CHECKS = {
    "cpu": _text,
    "cores": _count,
    "memory_gb": _number,
    "kernel": _text,
    "gpu": _text_or_null,
    "driver": _text_or_null,
    "libraries": _texts,
    "commit": lambda value: isinstance(value, str) and bool(re.fullmatch(r"unknown|[0-9a-f]{40}(\+changes)?", value)),
    "date": lambda value: (
        isinstance(value, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", value))
    ),
    "seconds": _number,
}
_CLIP: _CHECKS = {
    "width": _count,
    "height": _count,
    "num_frames": _count,
    "encoder": _text,
    "why": _text,
    "bytes": _count,
    "sha256": lambda value: isinstance(value, str) and bool(re.fullmatch(r"[0-9a-f]{64}", value)),
}
_CONTENDER: _CHECKS = {
    "versions": lambda value: value is None or _texts(value),
    "absent": _text_or_null,
}
_CELL: _CHECKS = {
    "task": _text,
    "clip": _text,
    "contender": _text,
    "cores": _count,
    "threads": _count,
    "unit": lambda value: value in ("frames/s", "ms"),
    "median": _number_or_null,
    "min": _number_or_null,
    "max": _number_or_null,
    "cpu_ms": _number_or_null,
    "peak_rss_mb": _number_or_null,
    "failed": _text_or_null,
    "runs": _objects,
}
_RUN: _CHECKS = {
    "value": lambda value: _number(value) and value > 0,
    "cpu_ms": _number,
    "peak_rss_mb": _number,
    "faults": _number,
    "noise": _number,
    "check": _number_or_null,
}
_PAIR: _CHECKS = {
    "task": _text,
    "clip": _text,
    "ours": _text,
    "cores": _count,
    "peer": _text,
    "peer_cores": _count,
    "ratio": _number,
    "ratios": _ratios,
}
_EXACTNESS: _CHECKS = {
    "clip": _text,
    "contender": _text,
    "of": _count,
    "wrong": lambda value: isinstance(value, list) and all(isinstance(number, int) for number in value),
}
_GOAL: _CHECKS = {
    "name": _text,
    "value": _number,
    "unit": _text,
    "peer": _text_or_null,
    "peer_value": _number_or_null,
    "ratio": _number_or_null,
    "target": _number,
    "at_least": lambda value: isinstance(value, bool),
    "of_limit": _number_or_null,
    "pass": lambda value: isinstance(value, bool),
}
#: Of a goal whose ratio is that of pairs, all; of another one, none.
_SPREAD: _CHECKS = {
    "pairs": _count,
    "ratio_quartiles": lambda value: _ratios(value) and len(value) == 2,
    "decided": lambda value: isinstance(value, bool),
}


def _check(where: str, value: object, fields: _CHECKS) -> list[str]:
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


def _cell_problems(where: str, cell: Mapping[str, Any]) -> list[str]:
    values = [run["value"] for run in cell["runs"]]
    if not values:
        return [] if cell["failed"] else [f"{where} has neither runs nor a reason in failed"]
    expected = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return [
        f"{where}: {name} {cell[name]} is not that of its runs"
        for name, value in expected.items()
        if cell[name] is None or abs(cell[name] - value) > 1e-3
    ]


def _pair_problems(pair: Mapping[str, Any]) -> list[str]:
    where = f"pair of {pair['ours']} and {pair['peer']} at {pair['task']} on {pair['clip']}"
    median = statistics.median(pair["ratios"])
    same = abs(median - pair["ratio"]) < 1e-4
    return [] if same else [f"{where}: ratio {pair['ratio']} is not the median of its ratios, {median:.4f}"]


def _goal_problems(goal: Mapping[str, Any]) -> list[str]:
    """A goal that says it is reached must be."""
    name, judged = goal["name"], goal["value"]
    if goal["peer"] is not None:
        if goal["peer_value"] is None or goal["ratio"] is None:
            return [f"goal {name} names a peer without its figures"]
        ratio = better(goal["unit"], goal["value"], goal["peer_value"])
        if "pairs" not in goal and abs(ratio - goal["ratio"]) > 1e-3 * ratio:
            return [f"goal {name}: ratio {goal['ratio']} is not that of its figures, {ratio:.4f}"]
        judged = goal["ratio"]
    if "pairs" in goal and not goal["ratio_quartiles"][0] <= judged <= goal["ratio_quartiles"][1]:
        return [f"goal {name}: {judged} is not between the quartiles of its pairs, {goal['ratio_quartiles']}"]
    if abs(judged - goal["target"]) < 1e-4:  # as close as the file's digits tell
        return []
    passes = judged > goal["target"] if goal["at_least"] else judged < goal["target"]
    return [] if passes == goal["pass"] else [f"goal {name}: pass is {goal['pass']}, but {judged} says otherwise"]


def validate(content: object) -> list[str]:
    """What is wrong with a results file; empty if nothing."""
    content = {"pairs": [], **content} if isinstance(content, dict) else content  # nothing need be measured in pairs
    problems = _check("file", content, _FILE)
    if problems or not isinstance(content, dict):
        return problems
    problems = _check("environment", content["environment"], _ENVIRONMENT)
    for name, facts in content["clips"].items():
        problems += _check(f"clips.{name}", facts, _CLIP)
    for name, entry in content["contenders"].items():
        problems += _check(f"contenders.{name}", entry, _CONTENDER)
    for kind, fields in (("cells", _CELL), ("pairs", _PAIR), ("exactness", _EXACTNESS), ("goals", _GOAL)):
        for number, entry in enumerate(content[kind]):
            spread = _SPREAD if kind == "goals" and "pairs" in entry else {}
            problems += _check(f"{kind}[{number}]", entry, {**fields, **spread})
    for number, cell in enumerate(content["cells"]):
        for place, run in enumerate(cell.get("runs", [])):
            problems += _check(f"cells[{number}].runs[{place}]", run, _RUN)
    if problems:
        return problems
    keys = ("task", "clip", "contender", "cores", "threads")
    seen: set[tuple[Any, ...]] = set()
    for cell in content["cells"]:
        key = tuple(cell[name] for name in keys)
        where = " ".join(map(str, key))
        problems += _cell_problems(where, cell)
        problems += [f"cells has {where} twice"] if key in seen else []
        problems += [
            f"{where}: {name} {cell[name]} is not described in {kind}"
            for name, kind in (("clip", "clips"), ("task", "tasks"), ("contender", "contenders"))
            if cell[name] not in content[kind]
        ]
        seen.add(key)
    names = [goal["name"] for goal in content["goals"]]
    problems += [f"goals has {name} twice" for name in sorted({name for name in names if names.count(name) > 1})]
    problems += [problem for pair in content["pairs"] for problem in _pair_problems(pair)]
    return problems + [problem for goal in content["goals"] for problem in _goal_problems(goal)]
