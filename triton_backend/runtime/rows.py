# SPDX-License-Identifier: Apache-2.0
"""The values in the rows of a request's tensors: numbers, texts, options by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_MAX_WORD = 64

Tensors = Mapping[str, npt.NDArray[Any]]
"""The inputs of a request by their names, each with the batch dimension first."""

Table = Mapping[str, tuple[str, Callable[[npt.NDArray[Any]], Any]]]
"""By input: the option, and the function that makes its value from a row."""


def number(row: npt.NDArray[Any]) -> Any:
    """The one value of a row."""
    if row.size != 1:
        raise ValueError(f"expected one value, got {row.size}")
    return row.reshape(-1).tolist()[0]


def numbers(count: int, meaning: str) -> Callable[[npt.NDArray[Any]], list[Any]]:
    """A function that gives the `count` values of a row; `meaning` names them for people."""

    def convert(row: npt.NDArray[Any]) -> list[Any]:
        if row.size != count:
            raise ValueError(f"expected {count} values ({meaning}), got {row.size}")
        return list(row.reshape(-1).tolist())

    return convert


def any_numbers(row: npt.NDArray[Any]) -> list[Any]:
    """The values of a row."""
    return list(row.reshape(-1).tolist())


def word(row: npt.NDArray[Any]) -> str:
    """The one short text of a row."""
    value = number(row)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if len(text) > _MAX_WORD:
        raise ValueError(f"expected a short text, got {len(text)} characters")
    return text


def text_of(element: Any) -> bytes:
    """The bytes of an element of a tensor of BYTES."""
    return element if isinstance(element, bytes) else str(element).encode()


def inputs(convert: Callable[[npt.NDArray[Any]], Any], *names: str) -> Table:
    """Inputs that have the names of their options in capital letters, and one conversion."""
    return {name.upper(): (name, convert) for name in names}


def options(table: Table, tensors: Tensors, index: int = 0) -> dict[str, Any]:
    """The options that row `index` of a request gives.

    Raises:
        ValueError: naming the input that is not accepted.
    """
    found = {}
    for name, (option, convert) in table.items():
        if name in tensors:
            try:
                found[option] = convert(np.asarray(tensors[name][index]))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
    return found
