# SPDX-License-Identifier: Apache-2.0
"""Runs a driver of random inputs, a range of seeds at a time, in processes that may end.

A driver is a program DRIVER FIRST COUNT that prints a line of JSON with `seed` before each input, and one that also has
`wrong` for each failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

AT_ONCE = 50
"""Inputs of one process."""

SECONDS = 600
"""That one process may take."""


def _faults_of_some(driver: Path, first: int, count: int) -> list[dict[str, Any]]:
    found = []
    end = first + count
    while first < end:
        command = [sys.executable, str(driver), str(first), str(end - first)]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            status, output, log = result.returncode, result.stdout, result.stderr
        except subprocess.TimeoutExpired as expired:
            status, output, log = -1, (expired.stdout or b"").decode(), f"it took more than {SECONDS} s"
        lines = [json.loads(line) for line in output.splitlines() if line.endswith("}")]
        found += [line for line in lines if "wrong" in line]
        last = lines[-1]["seed"] if lines else first
        if status != 0:
            what = lines[-1].get("what", "") if lines else ""
            found.append({"seed": last, "what": what, "wrong": f"the process ended with status {status}: {log[-600:]}"})
        first = last + 1
    return found


def faults(driver: Path, first: int, count: int, jobs: int = 1) -> list[dict[str, Any]]:
    """What went wrong with the inputs of so many seeds, in so many processes at a time."""
    parts = [(at, min(AT_ONCE, first + count - at)) for at in range(first, first + count, AT_ONCE)]
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda part: _faults_of_some(driver, *part), parts)
        return [fault for part in results for fault in part]
