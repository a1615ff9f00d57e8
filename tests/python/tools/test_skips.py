# SPDX-License-Identifier: Apache-2.0
"""Tests that are skipped on a machine that should have everything fail there, except for what it is known to lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]


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
    (tmp_path / "test_it.py").write_text(f"import pytest\ndef test_it():\n    pytest.skip({reason!r})\n")
    paths = [str(_TESTS), str(_TESTS / "helpers"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "TRICODEC_NO_SKIPS": "1", "TRICODEC_MAY_SKIP": may_skip}

    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "conftest", "--rootdir", tmp_path, tmp_path],
        capture_output=True, text=True, check=False, env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip

    assert outcome in result.stdout
