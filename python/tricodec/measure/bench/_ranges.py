# SPDX-License-Identifier: Apache-2.0
"""Values to try, as the command line writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_MOST_VALUES = 1000

Number = TypeVar("Number", int, float)


def parse_range(text: str, kind: Callable[[str], Number]) -> list[Number]:
    """The values of "4", "1,2,8", "1:8" (each), "1:8:2" (steps) or "1:64:x2" (doubled each time).

    The last value of a range is included if a step reaches it. Values are positive and ascending, of the type `kind`.
    """
    try:
        values = _values(text, kind)
    except ValueError:
        values = []
    if not values or min(values) <= 0 or values != sorted(set(values)) or len(values) > _MOST_VALUES:
        raise ValueError(
            f"{text!r} is not accepted; write a positive number, an ascending list such as 1,2,8, or a range: 1:8, "
            f"1:8:2 (FIRST:LAST:STEP) or 1:64:x2 (doubled each time), of at most {_MOST_VALUES} values"
        )
    return values


def _values(text: str, kind: Callable[[str], Number]) -> list[Number]:
    if ":" not in text:
        return [kind(each) for each in text.split(",")]
    first, last, *rest = text.split(":")
    step = rest[0] if rest else "1"
    if len(rest) > 1:
        return []
    value, end = kind(first), kind(last)
    factor = kind(step[1:]) if step.startswith("x") else kind("1")
    increment = kind("0") if step.startswith("x") else kind(step)
    if value <= 0 or (factor <= 1 and increment <= 0):
        return []
    values: list[Number] = []
    while value <= end and len(values) <= _MOST_VALUES:
        values.append(value)
        value = value * factor + increment
    return values
