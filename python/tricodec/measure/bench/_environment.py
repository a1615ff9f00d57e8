# SPDX-License-Identifier: Apache-2.0
"""The machine and the software of a measurement."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess

import tricodec
from tricodec.video.cores import num_cores, processor

_PACKAGES = re.compile(r"nvidia-(lib)?nvcomp-cu\d+|nvidia-dali-cuda\d+|tritonclient")
_GPU_FACTS = ("name", "driver_version", "clocks.sm", "clocks.mem")


def libraries() -> dict[str, str]:
    """Versions by name: Python, numpy, tricodec and its libraries, and installed packages that it uses."""
    from importlib import metadata

    import numpy as np

    versions = {"python": platform.python_version(), "numpy": np.__version__, "tricodec": tricodec.__version__}
    for line in tricodec.build_info().splitlines():
        name, _, value = line.partition(":")
        if value.strip():
            versions[name.strip()] = value.strip()
    for package in metadata.distributions():
        name = package.metadata["Name"] or ""
        if _PACKAGES.fullmatch(name):
            versions[name] = package.version
    return versions


def environment() -> dict[str, str]:
    """Facts of this machine and its software, by name; a machine without a GPU has no facts of one."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    facts = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": processor(),
        "cores": str(num_cores()),
        "load average": f"{os.getloadavg()[0]:.2f}",
        "memory": f"{memory / 1e9:.1f} GB",
        "kernel": platform.release(),
    }
    gpu = gpu_facts()
    if gpu:
        facts |= {"gpu": gpu["name"], "driver": gpu["driver_version"]}
        facts["gpu clocks"] = f"SM {gpu['clocks.sm']}, memory {gpu['clocks.mem']}"
    return facts | {"libraries": ", ".join(f"{name} {version}" for name, version in libraries().items())}


def gpu_facts() -> dict[str, str]:
    """Name, driver version and clocks of the first GPU, as nvidia-smi reports them; empty without one."""
    if shutil.which("nvidia-smi") is None:
        return {}
    command = ["nvidia-smi", f"--query-gpu={','.join(_GPU_FACTS)}", "--format=csv,noheader"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = result.stdout.strip().splitlines() if result.returncode == 0 else []
    return dict(zip(_GPU_FACTS, lines[0].split(", "), strict=False)) if lines else {}
