# SPDX-License-Identifier: Apache-2.0
"""Torchvision of PyPI, which is linked with torch's CUDA build, beside a torch of another build."""

from __future__ import annotations

import importlib
import warnings
from typing import Any


def load_torchvision() -> Any:
    """The package, for its transforms. Without its own library it lacks two operators that it needs for its import."""
    import torch

    if not torch.version.cuda and not hasattr(torch.ops.torchvision, "nms"):
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("torchvision.transforms.v2")
