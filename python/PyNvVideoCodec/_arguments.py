# SPDX-License-Identifier: Apache-2.0
"""Arguments as the documented API takes them: numbers for handles and flags."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

_host_memory_warned = False


def expect_int(name: str, value: Any) -> int:
    """An int, or what numpy takes for one. Raises TypeError naming the argument."""
    try:
        return operator.index(value)
    except TypeError:
        message = f"{name} must be an int, not {type(value).__name__}"
        raise TypeError(message) from None


def expect_flag(name: str, value: Any) -> bool:
    """True, False, 1 or 0. Raises TypeError or ValueError naming the argument."""
    number = expect_int(name, bool(value) if isinstance(value, np.bool_) else value)  # numpy's is no index
    if number not in (0, 1):
        message = f"{name} must be True, False, 1 or 0, not {value!r}"
        raise ValueError(message)
    return bool(number)


def warn_of_host_memory(argument: str) -> None:
    """Once a process: nobody needs to be told at every decoder."""
    global _host_memory_warned  # noqa: PLW0603
    if _host_memory_warned:
        return
    _host_memory_warned = True
    message = (
        f"{argument}=True, but no usable GPU decoder is here: frames are in host memory (__dlpack_device__() is "
        f"(1, 0)). Pass {argument}=False, or set TRICODEC_DEVICE=cuda to make this an error."
    )
    warnings.warn(message, RuntimeWarning, stacklevel=4)
