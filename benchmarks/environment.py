# SPDX-License-Identifier: Apache-2.0
"""The machine and the software of a run, as facts of a results file; what is not there is None."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _command(*command: str) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout.strip() or None if result.returncode == 0 else None


def _commit() -> str:
    commit = _command("git", "rev-parse", "HEAD")
    if commit is None:
        return "unknown"
    changes = _command("git", "status", "--porcelain", "--", ".", ":!benchmarks/results")
    return commit + ("+changes" if changes else "")


def listed(versions: dict[str, str]) -> str:
    """Names with their versions in one line."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def now() -> str:
    """In UTC, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def environment(seconds: float) -> dict[str, str | None]:
    """The facts that every results file has; `seconds` is how long the run took."""
    from tricodec import bench

    machine = bench.environment()
    return {
        "commit": _commit(),
        "date": now(),
        "seconds": f"{seconds:.0f}",
        "cpu": machine["cpu"],
        "cores": machine["cores"],
        "memory_gb": machine["memory"].removesuffix(" GB"),
        "kernel": machine["kernel"],
        "gpu": machine.get("gpu"),
        "driver": machine.get("driver"),
        "libraries": machine["libraries"],
    }
