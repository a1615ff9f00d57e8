# SPDX-License-Identifier: Apache-2.0
"""Random values for the operators' arguments: no process ends, and errors are those of DALI and of the operators."""

from __future__ import annotations

import os
from pathlib import Path

import isolated
import pytest

DRIVER = Path(isolated.__file__).with_name("random_operators.py")
SLOW_PIPELINES = int(os.environ.get("TRICODEC_FUZZ_PIPELINES", "5000"))


def test_random_arguments_of_operators_raise_errors() -> None:
    assert isolated.faults(DRIVER, 0, 60) == []


@pytest.mark.slow
def test_many_random_arguments_of_operators_raise_errors() -> None:
    assert isolated.faults(DRIVER, 1000, SLOW_PIPELINES) == []
