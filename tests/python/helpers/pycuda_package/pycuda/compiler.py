# SPDX-License-Identifier: Apache-2.0
"""``pycuda.compiler``: programs import its class, and none of those that tests run makes an object of it."""

from __future__ import annotations


class SourceModule:
    """Source text for a kernel."""
