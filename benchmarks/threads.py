# SPDX-License-Identifier: Apache-2.0
"""Work in several Python threads, as a user's program has them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence


def in_threads(works: Sequence[Callable[[], int]]) -> int:
    """Runs each of these in a thread of its own and returns the sum of what they return."""
    results: list[int] = []
    failures: list[BaseException] = []

    def run(work: Callable[[], int]) -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum(results)
