# SPDX-License-Identifier: Apache-2.0
"""What conftest.py makes of tests: a skip where everything should be is a failure, and sweeps are split."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]


def outcome_of(folder: Path, code: str, *options: str, **variables: str) -> str:
    """What pytest says of a file of tests beside our conftest.py."""
    (folder / "test_it.py").write_text(code)
    paths = [str(_TESTS), str(_TESTS / "helpers"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "conftest", "--rootdir", folder]
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(paths)}
    asked = [*command, *(options or [folder])]
    return subprocess.run(asked, capture_output=True, text=True, check=False, env=environment).stdout


@pytest.mark.parametrize(
    ("may_skip", "reason", "outcome"),
    [
        ("", "torch is not installed", "1 failed"),
        ("dali triton", "torch is not installed", "1 failed"),
        ("dali triton", "nvidia-dali-cuda130 is not installed", "1 skipped"),
        ("cupy", "could not import 'CuPy'", "1 skipped"),
        ("", "not for this GPU: it leaves it to libavcodec", "1 skipped"),
    ],
)
def test_a_skip_is_a_failure_unless_it_is_excused(tmp_path: Path, may_skip: str, reason: str, outcome: str) -> None:
    code = f"import pytest\ndef test_it():\n    pytest.skip({reason!r})\n"

    assert outcome in outcome_of(tmp_path, code, TRICODEC_NO_SKIPS="1", TRICODEC_MAY_SKIP=may_skip)


KINDS = ["path", "bytes", "pipe", "socket"]
SWEEP = """
import pytest
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", ["path", "bytes", "pipe", "socket"])
@pytest.mark.parametrize("clip", range(20))
@pytest.mark.sweep(8)
def test_it(clip, kind, workers):
    print(f"<{clip} {kind} {workers}>")
"""


def test_a_sweep_is_split_in_two_and_the_first_has_every_value(tmp_path: Path) -> None:
    first, rest = (
        re.findall(r"<(.*?)>", outcome_of(tmp_path, SWEEP, "-s", "-m", chosen, str(tmp_path)))
        for chosen in ("not broad", "broad")
    )

    assert sorted(first + rest) == sorted(f"{c} {k} {w}" for c in range(20) for k in KINDS for w in (1, 2))
    assert 20 <= len(first) <= 160 / 8 + 20 + len(KINDS)
    assert {clip for clip, _, _ in map(str.split, first)} == set(map(str, range(20)))
    assert {(kind, workers) for _, kind, workers in map(str.split, first)} == {(k, w) for k in KINDS for w in "12"}


def test_a_case_that_is_named_runs(tmp_path: Path) -> None:
    case = f"{tmp_path}/test_it.py::test_it[3-pipe-2]"

    assert "1 passed" in outcome_of(tmp_path, SWEEP, "-m", "not broad", case)
