# SPDX-License-Identifier: Apache-2.0
"""Random values for arguments: no process ends, and only documented errors are raised."""

from __future__ import annotations

import os
from pathlib import Path

import isolated
import pytest
import random_calls

DRIVER = Path(random_calls.__file__)
SLOW_CALLS = int(os.environ.get("TRICODEC_FUZZ_CALLS", "20000"))


@pytest.mark.slow  # some calls of the first 600 took ten minutes
def test_many_random_arguments_raise_documented_errors() -> None:
    assert isolated.faults(DRIVER, 1000, SLOW_CALLS) == []
