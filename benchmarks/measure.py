# SPDX-License-Identifier: Apache-2.0
"""Taking samples of several contenders in turn, so that a change of the machine's mood hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from schema import Record

# Does the work once and returns how many units of it were done (frames).
Work = Callable[[], int]


def rate(name: str, unit: str, ours: Work, peers: dict[str, Work], *, samples: int, warm_up: bool = True) -> Record:
    """Units of work a second.

    Args:
        name: of the record.
        unit: such as "frames/s".
        ours: the work through tricodec.
        peers: the same work through others.
        samples: repetitions; in each, every contender runs once.
        warm_up: whether each contender first runs once without a clock.

    Raises:
        RuntimeError: if a contender did another amount of work than ours.
    """
    contenders = {"tricodec": ours, **peers}
    taken: dict[str, list[float]] = {contender: [] for contender in contenders}
    amounts: dict[str, int] = {}
    if warm_up:
        for work in contenders.values():
            work()
    order = list(contenders)
    for _ in range(samples):
        for contender in order:
            start = time.perf_counter()
            amounts[contender] = contenders[contender]()
            taken[contender].append(amounts[contender] / (time.perf_counter() - start))
        order.append(order.pop(0))  # nobody always runs after the same one
    differing = {contender: amount for contender, amount in amounts.items() if amount != amounts["tricodec"]}
    if differing:
        message = f"{name}: tricodec did {amounts['tricodec']} units of work, but {differing}"
        raise RuntimeError(message)
    medians = {peer: statistics.median(taken[peer]) for peer in peers}
    return Record(name=name, unit=unit, samples=taken["tricodec"], peers=medians)
