# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch: a permutation that is a function of a seed and an epoch, computed a place at a time.

Note [Order of an epoch]: place p of n holds the image of p under a Feistel network over the least even number of bits
that has n values, applied again until the image is below n. A round xors the right half, hashed by SplitMix64 with the
round's key, into the left half. The keys are SplitMix64 of the seed, the epoch and the round. Nothing of a machine, of
Python or of numpy enters, and no memory grows with n. The numbers in the tests hold it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_ROUNDS = 6
_MASK = (1 << 64) - 1


def shuffled(places: Any, size: int, seed: int, epoch: int) -> npt.NDArray[np.int64]:
    """What an epoch has at some places, int64.

    Args:
        places: numbers from 0 to `size` - 1.
        size: the number of items, below 2**62.
        seed, epoch: of the order.
    """
    values = np.asarray(places, np.uint64).copy()
    half = max(1, ((size - 1).bit_length() + 1) // 2) if size > 1 else 1
    keys = [_mixed(_mixed(_mixed(seed & _MASK) ^ (epoch & _MASK)) ^ number) for number in range(_ROUNDS)]
    outside = np.ones(values.shape, bool)
    while outside.any():
        values[outside] = _network(values[outside], half, keys)
        outside = values >= size
    order: npt.NDArray[np.int64] = values.astype(np.int64)
    return order


def _network(values: npt.NDArray[np.uint64], half: int, keys: list[int]) -> npt.NDArray[np.uint64]:
    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = values >> bits, values & mask
    for key in keys:
        left, right = right, left ^ (_mixed_array(right ^ np.uint64(key)) & mask)
    joined: npt.NDArray[np.uint64] = (left << bits) | right
    return joined


def _mixed(value: int) -> int:
    """SplitMix64 of one number."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _mixed_array(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The same of many."""
    values = values + np.uint64(0x9E3779B97F4A7C15)  # arrays wrap around without a word
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed
