# SPDX-License-Identifier: Apache-2.0
"""What the tests of other packages' names need: a test is skipped if its package is not installed.

TRICODEC_REQUIRE_<NAME>=1 says that this machine must have the package: then the test fails. These tests run with device
"auto", as users' programs do.
"""

from __future__ import annotations

import importlib.util
import os

import pytest
from gpu_helpers import has_cuda

_PACKAGES = {
    "needs_torch": ("torch",),
    "needs_heif": ("torch", "PIL", "pillow_heif"),
    "needs_torchdata": ("torchdata",),
    "needs_vlm": ("torch", "torchvision", "transformers", "qwen_vl_utils"),
    "needs_vllm": ("vllm",),
    "needs_sglang": ("sglang",),
}


def _missing(marker: str) -> list[str]:
    if marker == "needs_gpu":
        return [] if has_cuda() else ["a CUDA device"]
    return [name for name in _PACKAGES[marker] if importlib.util.find_spec(name) is None]


def pytest_configure(config: pytest.Config) -> None:
    """Names the markers."""
    for marker in (*_PACKAGES, "needs_gpu"):
        config.addinivalue_line("markers", f"{marker}: skipped without its packages")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips, or fails where it is required, a test that needs what this machine lacks."""
    os.environ.pop("TRICODEC_DEVICE", None)
    for marker in (*_PACKAGES, "needs_gpu"):
        missing = _missing(marker) if item.get_closest_marker(marker) else []
        if missing and os.environ.get("TRICODEC_REQUIRE_" + marker.removeprefix("needs_").upper(), "") not in ("", "0"):
            pytest.fail(f"{', '.join(missing)} must be installed here", pytrace=False)
        if missing:
            pytest.skip(f"{', '.join(missing)} is not installed")
