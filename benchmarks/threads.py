# SPDX-License-Identifier: Apache-2.0
"""Work in several Python threads, as a user's program has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor


def in_threads(works: Sequence[Callable[[], int]]) -> int:
    """Runs these side by side, a thread each, and returns the sum of what they return."""
    with ThreadPoolExecutor(len(works)) as pool:
        return sum(pool.map(lambda work: work(), works))
