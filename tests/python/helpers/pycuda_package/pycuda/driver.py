# SPDX-License-Identifier: Apache-2.0
"""``pycuda.driver``: over the driver's library where there is a GPU, over host memory elsewhere."""

from __future__ import annotations

import sys

from gpu_helpers import has_cuda

if has_cuda():
    from gpu_helpers.pycuda_over_ctypes import Driver
else:
    from pynv_helpers.pycuda_driver import Driver

sys.modules[__name__] = Driver()
