# SPDX-License-Identifier: Apache-2.0
"""Arguments of operators that are whole numbers: DALI cuts 1.5 off to 1 before an operator sees it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np


def refuse_fractions(backend: Any, operators: Any, schemas: tuple[str, ...]) -> None:
    """Let the classes of ``ops.tricodec``, which ``fn.tricodec`` uses, refuse fractions. A second call does nothing."""
    for schema_name in schemas:
        *packages, name = schema_name.removeprefix("tricodec__").split("__")
        cls = getattr(functools.reduce(getattr, packages, operators), name)
        if not hasattr(cls.__init__, "refuses_fractions"):
            cls.__init__ = _checked(cls.__init__, backend.GetSchema(schema_name), name)


def _checked(make: Any, schema: Any, operator: str) -> Any:
    @functools.wraps(make)
    def checked(self: Any, **arguments: Any) -> None:
        for name, value in arguments.items():
            if schema.HasArgument(name) and "INT" in schema.GetArgumentType(name).name:
                for number in _numbers(value):
                    if not number.is_integer():
                        raise ValueError(
                            f"{operator}: {name} is {value!r}; it takes whole numbers: use int() or round()"
                        )
        make(self, **arguments)

    checked.refuses_fractions = True  # type: ignore[attr-defined]
    return checked


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, (float, np.floating)):
        yield float(value)
    elif isinstance(value, (list, tuple, np.ndarray)):
        for each in value:
            yield from _numbers(each)
