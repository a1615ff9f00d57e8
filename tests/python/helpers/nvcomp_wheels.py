# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's nvCOMP wheels, for tests that compare with them."""

from __future__ import annotations

from pathlib import Path

from wheels import unpacked

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
