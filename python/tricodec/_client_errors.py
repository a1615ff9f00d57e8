# SPDX-License-Identifier: Apache-2.0
"""What a server refuses, as the exceptions that the same call raises without one."""

from __future__ import annotations

import builtins
import re

import tricodec
from tricodec._client_triton import InferenceServerException

_BUILTIN_ERRORS = ("ValueError", "TypeError", "IndexError", "TimeoutError")


def translate(error: InferenceServerException, url: str) -> Exception:
    """The exception that a local `decode_video` would have raised, where the text names one."""
    message, status = error.message() or str(error), str(error.status() or "")
    named = re.match(r"([A-Za-z]+): (.*)", message, re.DOTALL)
    if named:
        name, text = named.groups()
        kind = getattr(builtins, name) if name in _BUILTIN_ERRORS else getattr(tricodec, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            return kind(text)
    if status.endswith("INVALID_ARGUMENT"):
        return ValueError(message)  # by Triton itself, such as a crop of three numbers
    if status.endswith("DEADLINE_EXCEEDED"):
        return TimeoutError(f"{url} did not answer in time: {message}")
    if status.endswith("UNAVAILABLE"):
        return ConnectionError(f"{url} cannot answer: {message}")
    unchanged: Exception = error
    return unchanged
