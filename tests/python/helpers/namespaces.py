# SPDX-License-Identifier: Apache-2.0
"""A private namespace of mounts, for a /dev/shm of a test's own."""

from __future__ import annotations

import shutil
import subprocess

import pytest

UNSHARE = ["unshare", "--map-root-user", "--mount"]
"""Put before a command, it gives the command mounts of its own."""


def need_namespaces() -> None:
    """Skips the test where the system gives none, as many containers do."""
    if shutil.which("unshare") is None or subprocess.run([*UNSHARE, "true"], check=False).returncode != 0:
        pytest.skip("this system gives no namespaces")
