# SPDX-License-Identifier: Apache-2.0
"""A server at four times its capacity, while processes die and memory fills: good requests are all answered."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import load_faults
import pytest
from load_requests import good_requests, hostile_requests
from namespaces import UNSHARE, need_namespaces

pytestmark = pytest.mark.needs_triton

DRIVER = Path(load_faults.__file__).with_name("triton_load.py")
LOST = re.compile(r"InternalError: .* died of SIGKILL and was replaced|TimeoutError: .* took longer than")
"""How a request may end that a fault hits."""


def load(folder: Path, minutes: float, fault_seconds: float) -> dict[str, Any]:
    """The driver's report; it runs beside a /dev/shm of its own."""
    need_namespaces()
    command = [*UNSHARE, sys.executable, DRIVER, str(minutes), str(fault_seconds)]
    variables = os.environ | {"TMPDIR": str(folder)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert result.returncode == 0, result.stderr[-4000:]
    report: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return report


def judge(report: dict[str, Any]) -> None:
    """What holds for a load of any length."""
    assert set(report["answered"]) == {request.name for request in good_requests()}
    assert set(report["refused"]) == {request.name for request in hostile_requests()}
    assert set(report["faults"]) == set(load_faults.FAULTS)
    most_lost = sum(load_faults.FAULTS[name][1] * count for name, count in report["faults"].items())
    assert len(report["lost"]) <= most_lost, report["lost"]
    assert all(LOST.match(lost["error"]) for lost in report["lost"]), report["lost"]
    returned = [
        line for line in report["reloads"] if line.startswith("video_decode: its process died; loaded again in")
    ]
    # Triton 24.10 may crash or hang if a process of a model is killed; it is then started again.
    assert len(returned) + report["crashes_of_triton"] >= report["faults"]["model killed"], report["reloads"]
    assert len(report["reloads"]) <= report["faults"]["model killed"], report["reloads"]
    assert report["crashes_of_triton"] <= report["faults"]["model killed"] + report["faults"]["model reloaded"]
    assert report["left"] == {"processes": [], "/dev/shm": [], "folders": []}


@pytest.mark.slow
def test_good_requests_are_answered_while_each_fault_happens(tmp_path: Path) -> None:
    judge(load(tmp_path, 0, 0.5))
