# SPDX-License-Identifier: Apache-2.0
"""A blur, and pictures of Pillow."""

from __future__ import annotations

import torch
from PIL import Image


def gaussian_blur(picture: torch.Tensor, kernel_size: list[int], sigma: list[float]) -> torch.Tensor:
    """The mean color everywhere: the blur of a wide kernel."""
    assert all(size % 2 == 1 for size in kernel_size)
    return picture.mean(dim=(-1, -2), keepdim=True).repeat(1, 1, *picture.shape[-2:])


def to_pil_image(picture: torch.Tensor) -> Image.Image:
    """Of (C, H, W)."""
    return Image.fromarray(picture.permute(1, 2, 0).numpy())
