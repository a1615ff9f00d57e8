# SPDX-License-Identifier: Apache-2.0
"""What torchcodec's encoders write to."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def expect_file_like(target: Any) -> None:
    """Refuse what is no object with ``write`` and ``seek``."""
    for method in ("write", "seek"):
        if not hasattr(target, method):
            raise RuntimeError(f"File like object must implement a {method} method")


def as_tensor(data: bytes | memoryview) -> Tensor:
    """A uint8 tensor of one axis, which can be written to."""
    return torch.from_numpy(np.frombuffer(bytearray(data), np.uint8))
