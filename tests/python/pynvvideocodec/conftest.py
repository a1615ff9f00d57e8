# SPDX-License-Identifier: Apache-2.0
"""The contract of these tests is the document of 1.0, whatever other tests of the process have used."""

from __future__ import annotations

from collections.abc import Iterator

import PyNvVideoCodec as nvc
import pytest


@pytest.fixture(autouse=True)
def version_1() -> Iterator[None]:
    """The version of the document."""
    nvc.set_api_version("1.0")
    yield
    nvc.set_api_version("auto")
