# SPDX-License-Identifier: Apache-2.0
"""Runs a driver of random inputs, a range of seeds at a time, in processes that may end.

A driver is a program DRIVER FIRST COUNT that prints a line of JSON with `seed` before each input, and one that also has
`wrong` for each failure.

python isolated.py DRIVER FIRST COUNT [JOBS]   prints what went wrong; the exit status is 1 if something did
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
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


def main() -> int:
    """Prints what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("jobs", type=int, nargs="?", default=1)
    arguments = parser.parse_args()
    start = time.monotonic()
    found = faults(arguments.driver, arguments.first, arguments.count, arguments.jobs)
    for fault in found:
        print(json.dumps(fault))
    print(f"{arguments.count:,} seeds in {time.monotonic() - start:.0f} s, {len(found)} failures", flush=True)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
