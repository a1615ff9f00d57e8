# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's sample programs use of PyTorch, over numpy, for machines without it."""

from __future__ import annotations

import types

import numpy as np

Tensor = np.ndarray
from_dlpack = np.from_dlpack
stack = np.stack
cuda = types.SimpleNamespace(is_available=lambda: False)
