# SPDX-License-Identifier: Apache-2.0
"""Drawing."""

from __future__ import annotations

import torch


def draw_bounding_boxes(img: torch.Tensor, boxes: torch.Tensor, labels: list[str], width: int) -> torch.Tensor:
    """The picture (C, H, W) with the corners of each box in white."""
    assert img.dtype == torch.uint8
    assert len(labels) == len(boxes)
    drawn = img.clone()
    for left, top, right, bottom in boxes.int().tolist():
        drawn[:, top : top + width, left:right] = 255
        drawn[:, bottom : bottom + width, left:right] = 255
    return drawn
