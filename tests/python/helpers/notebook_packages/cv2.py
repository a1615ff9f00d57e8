# SPDX-License-Identifier: Apache-2.0
"""What a notebook uses of OpenCV, over Pillow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

COLOR_RGB2BGR = 4
INTER_LINEAR = 1


def cvtColor(image: npt.NDArray[np.uint8], code: int) -> npt.NDArray[np.uint8]:
    """The channels in reverse order."""
    assert code == COLOR_RGB2BGR
    return image[..., ::-1]


def resize(image: npt.NDArray[np.uint8], size: tuple[int, int], interpolation: int) -> npt.NDArray[np.uint8]:
    """A bilinear resize to (width, height)."""
    assert interpolation == INTER_LINEAR
    return np.asarray(Image.fromarray(np.ascontiguousarray(image)).resize(size, Image.Resampling.BILINEAR))
