# SPDX-License-Identifier: Apache-2.0
"""``pycuda.autoinit``: the primary context of GPU 0 is current from the import on.

It also answers for ``torch.cuda`` where PyTorch has no CUDA: programs ask for the GPUs, and for the current stream.
"""

from __future__ import annotations

import sys

from . import driver

driver.init()
device = driver.Device(0)
context = device.retain_primary_context()
context.push()

torch = sys.modules.get("torch")
if torch is not None and not torch.cuda.is_available():
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = driver.Device.count
    torch.cuda.get_device_name = lambda _: device.name()
    torch.cuda.current_stream = driver.Stream
