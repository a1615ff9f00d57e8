# SPDX-License-Identifier: Apache-2.0
"""Many frames on one picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tricodec

_GAP = 4
_BACKGROUND = 24
_THUMBNAIL_HEIGHT = 144


def thumbnail_size(frame: tricodec.Frame, height: int = _THUMBNAIL_HEIGHT) -> tuple[int, int]:
    """(height, width) of a small picture with the proportions that the frame is shown in."""
    ratio = frame.width / frame.height * float(frame.sample_aspect_ratio or 1)
    if frame.rotation % 180:
        ratio = 1 / ratio
    return height, max(1, round(height * ratio))


def evenly_spaced(num_frames: int, count: int) -> list[int]:
    """At most `count` frame numbers, each in the middle of its part of the video."""
    count = min(count, num_frames)
    return [(2 * part + 1) * num_frames // (2 * count) for part in range(count)]


def compose(pictures: Sequence[npt.NDArray[Any]], columns: int | None = None) -> npt.NDArray[Any]:
    """Puts pictures of one size into rows, left to right, with gaps.

    Args:
        pictures: uint8 [H, W, 3] each, at least one.
        columns: pictures a row; None makes about as many rows as columns.

    Returns:
        uint8 [H', W', 3].
    """
    columns = columns or math.ceil(math.sqrt(len(pictures)))
    columns = min(columns, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    height, width, _ = pictures[0].shape
    sheet = np.full((_GAP + rows * (height + _GAP), _GAP + columns * (width + _GAP), 3), _BACKGROUND, np.uint8)
    for number, picture in enumerate(pictures):
        top = _GAP + number // columns * (height + _GAP)
        left = _GAP + number % columns * (width + _GAP)
        sheet[top : top + height, left : left + width] = picture
    return sheet
