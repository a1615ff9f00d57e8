# SPDX-License-Identifier: Apache-2.0
"""What tests of the GPU doors share: a stand-in for the driver, for what can be tested without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).with_name("fake_libcuda.c")


def build_fake_driver(folder: Path) -> Path:
    """Compiles fake_libcuda.c to folder/libcuda.so.1 and returns the folder."""
    compiler = os.environ.get("CC", "cc")
    library = folder / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, _SOURCE], check=True)
    return folder


def run_with_driver(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code where the driver is the one in `folder`; arguments are more environment variables."""
    paths = [str(folder), *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]
    search = [str(Path(__file__).parent.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    variables = {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(path for path in paths if path),
        "PYTHONPATH": os.pathsep.join(path for path in search if path),
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, env=variables
    )
