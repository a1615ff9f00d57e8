# SPDX-License-Identifier: Apache-2.0
"""Bounds of time on a machine that others use too."""

from __future__ import annotations

import time
from collections.abc import Callable


def least(measure: Callable[[], float], bound: float, patience_seconds: float = 60.0) -> float:
    """The least figure of several measurements, which end at the first one within the bound.

    A busy machine spoils some of them. Code that is too slow spoils all.
    """
    deadline = time.monotonic() + patience_seconds
    figure = measure()
    while figure > bound and time.monotonic() < deadline:
        figure = min(figure, measure())
    return figure
