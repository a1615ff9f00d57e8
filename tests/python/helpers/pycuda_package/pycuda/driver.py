# SPDX-License-Identifier: Apache-2.0
"""``pycuda.driver``."""

from __future__ import annotations

import sys

from gpu_helpers.pycuda_over_ctypes import Driver

sys.modules[__name__] = Driver()
