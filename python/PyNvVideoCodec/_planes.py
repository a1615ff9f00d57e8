# SPDX-License-Identifier: Apache-2.0
"""The samples of a decoded picture as numpy arrays over the decoder's own memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec

from ._layout import SampleFormat

Samples = npt.NDArray[Any]  # uint8 or uint16


def luma_of(frame: tricodec.Frame) -> Samples:
    """[H, W], or green for GBR."""
    return np.asarray(frame.planes[0])


def chroma_of(frame: tricodec.Frame, source: SampleFormat) -> tuple[Samples, Samples] | None:
    """Both chroma planes as stored, or None for luma alone."""
    if source.chroma == "none":
        return None
    if source.chroma == "pairs":
        pairs = np.asarray(frame.planes[1])
        return pairs[..., 0], pairs[..., 1]
    return np.asarray(frame.planes[1]), np.asarray(frame.planes[2])


def repeated(samples: Samples, rows: int, columns: int, shape: tuple[int, ...]) -> Samples:
    """Each sample ``rows`` x ``columns`` times, cut to ``shape``."""
    if rows > 1:
        samples = samples.repeat(rows, axis=0)
    if columns > 1:
        samples = samples.repeat(columns, axis=1)
    return samples[: shape[0], : shape[1]]
