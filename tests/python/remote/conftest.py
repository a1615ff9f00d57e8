# SPDX-License-Identifier: Apache-2.0
"""A server of files for the tests of remote sources."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from range_server import RangeServer, range_server


@pytest.fixture
def server() -> Iterator[RangeServer]:
    """One for each test."""
    with range_server() as running:
        yield running
