# SPDX-License-Identifier: Apache-2.0
"""Tests in this folder run on an NVIDIA GPU; tools/gpu_check.sh requires one."""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = f"{Path(__file__).parent}/"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test of this folder."""
    for item in items:
        if str(item.path).startswith(_HERE):
            item.add_marker(pytest.mark.needs_gpu)
            # What the frameworks of a GPU machine say of themselves is not ours to fix.
            item.add_marker(pytest.mark.filterwarnings("default"))
