# SPDX-License-Identifier: Apache-2.0
"""The operators are registered for all tests of this folder, which need DALI."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("nvidia") is not None and importlib.util.find_spec("nvidia.dali") is not None:
    import tricodec.dali  # noqa: F401
