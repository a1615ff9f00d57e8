# SPDX-License-Identifier: Apache-2.0
"""The benchmarks start, and every results file has the format of benchmarks/schema.py."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import media
import pytest

BENCHMARKS = media.REPOSITORY / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import schema  # noqa: E402


@pytest.fixture
def valid() -> dict[str, Any]:
    record = schema.Record(name="decode.a", unit="frames/s", samples=[3.0, 1.0, 2.0], peers={"other": 1.5})
    return schema.document([record], [schema.Goal("equal", 5, 5, True)])


def _drop_unit(content: dict[str, Any]) -> None:
    del content["records"][0]["unit"]


def _wrong_median(content: dict[str, Any]) -> None:
    content["records"][0]["median"] = 3.0


def _no_samples(content: dict[str, Any]) -> None:
    content["records"][0]["samples"] = []


def _unknown_field(content: dict[str, Any]) -> None:
    content["goals"][0]["remark"] = "nearly"


def _twice(content: dict[str, Any]) -> None:
    content["records"] *= 2


def _no_commit(content: dict[str, Any]) -> None:
    content["environment"]["commit"] = "main"


def test_schema_accepts_what_it_makes(valid: dict[str, Any]) -> None:
    assert schema.validate(valid) == []
    assert valid["records"][0]["median"] == 2.0


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_drop_unit, "unit"),
        (_wrong_median, "median"),
        (_no_samples, "samples"),
        (_unknown_field, "remark"),
        (_twice, "twice"),
        (_no_commit, "commit"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_schema_names_what_is_wrong(
    valid: dict[str, Any], damage: Callable[[dict[str, Any]], None], named: str
) -> None:
    content = copy.deepcopy(valid)
    damage(content)

    problems = schema.validate(content)

    assert len(problems) == 1
    assert named in problems[0]


@pytest.mark.parametrize("path", [pytest.param(p, id=p.name) for p in sorted((BENCHMARKS / "results").glob("*.json"))])
def test_results_have_the_format(path: Path) -> None:
    assert schema.validate(json.loads(path.read_text())) == []


def test_benchmarks_start_and_meet_their_goals(tmp_path: Path) -> None:
    output = tmp_path / "cpu.json"

    result = subprocess.run(
        [sys.executable, BENCHMARKS / "run.py", "--once", "--output", output],
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stdout + result.stderr
    content = json.loads(output.read_text())
    assert schema.validate(content) == []
    assert {record["name"] for record in content["records"]} >= {"decode.bigbuckbunny_720p_h264"}
    assert all(goal["met"] for goal in content["goals"])
