# SPDX-License-Identifier: Apache-2.0
"""The machine and the software of a run, as facts of a results file; what is not there is None."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _command(*command: str) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout.strip() or None if result.returncode == 0 else None


def _fact(path: str, name: str) -> str | None:
    for line in Path(path).read_text().splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return None


def _commit() -> str:
    commit = _command("git", "rev-parse", "HEAD")
    if commit is None:
        return "unknown"
    changes = _command("git", "status", "--porcelain", "--", ".", ":!benchmarks/results")
    return commit + ("+changes" if changes else "")


def listed(versions: dict[str, str]) -> str:
    """Names with their versions in one line."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _libraries() -> dict[str, str]:
    import numpy as np
    import tricodec

    versions = {"python": platform.python_version(), "numpy": np.__version__, "tricodec": tricodec.__version__}
    for line in tricodec.build_info().splitlines():
        name, _, value = line.partition(":")
        if value.strip():
            versions[name.strip()] = value.strip()
    for package in metadata.distributions():
        name = package.metadata["Name"] or ""
        if re.fullmatch(r"nvidia-(lib)?nvcomp-cu\d+", name):  # what tricodec opens, and the peer
            versions[name] = package.version
    return versions


def now() -> str:
    """In UTC, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def environment(seconds: float) -> dict[str, str | None]:
    """The facts that every results file has; `seconds` is how long the run took."""
    gpu = _command("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, _, driver = (gpu.splitlines()[0] if gpu else "").partition(", ")
    kilobytes = (_fact("/proc/meminfo", "MemTotal") or "0").split()[0]
    return {
        "commit": _commit(),
        "date": now(),
        "seconds": f"{seconds:.0f}",
        "cpu": _fact("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory_gb": f"{int(kilobytes) * 1024 / 1e9:.1f}",
        "kernel": platform.release(),
        "gpu": name or None,
        "driver": driver or None,
        "libraries": listed(_libraries()),
    }
