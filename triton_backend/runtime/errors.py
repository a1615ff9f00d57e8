# SPDX-License-Identifier: Apache-2.0
"""Failures on their way from a worker to the client.

Triton carries a code and a text. The text begins with the name of the exception, so that `tricodec.triton.client`
raises the one that `tricodec.decode_video` would have raised.
"""

from __future__ import annotations

import dataclasses
import sys
import traceback
from collections.abc import Iterable
from typing import Any

_MAX_MESSAGE = 4000

_KINDS = {
    "INVALID_ARG": "ValueError TypeError IndexError CorruptDataError RefusedError MediaIOError PipelineError",
    "UNSUPPORTED": "UnsupportedError",
    "UNAVAILABLE": "OutOfMemoryError TimeoutError BusyError UnavailableError",
    "CANCELLED": "CancelledError",
    "INTERNAL": "DeviceError InternalError",
}
_CODES = {kind: code for code, kinds in _KINDS.items() for kind in kinds.split()}


class BusyError(Exception):
    """Too many requests wait already."""


class UnavailableError(ConnectionError):
    """The process that the request needs is gone."""


class PipelineError(ValueError):
    """An operator of a DALI pipeline refused its input; DALI has no more precise error."""


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """The reason why one request failed.

    Attributes:
        kind: the name of an exception, a key of the table above.
        message: for people.
        lost: why what a process kept for the request is gone; "" if it is not.
    """

    kind: str
    message: str
    lost: str = ""

    @property
    def code(self) -> str:
        """The name of a TritonError code."""
        return _CODES[self.kind]

    @property
    def text(self) -> str:
        """The text that the client reads."""
        return f"{self.kind}: {self.message}"


def cancelled() -> Failure:
    """The failure of a request with a client that is gone."""
    return Failure("CancelledError", "the client cancelled the request")


def failure_of_node(described: dict[str, Any]) -> Failure:
    """The failure of a request that a process of the node did, as `tricodec.node` describes it."""
    kind = _kind_of([*described.get("names", ()), described["kind"]]) or "InternalError"
    lost = str(described.get("why") or ("crash" if kind == "UnavailableError" else ""))
    return Failure(kind, str(described["text"])[:_MAX_MESSAGE], lost)


def failure_of(error: Exception) -> Failure:
    """Sorts an exception. One of an unexpected kind is logged here; clients see no traceback."""
    kind = _kind_of(base.__name__ for base in type(error).__mro__)
    if kind is None:
        traceback.print_exception(error, file=sys.stderr)
        return Failure("InternalError", f"{type(error).__name__}: {error}"[:_MAX_MESSAGE])
    return Failure(kind, (str(error) or kind)[:_MAX_MESSAGE])


def _kind_of(names: Iterable[Any]) -> str | None:
    """The first name of an exception that clients know; they know Python's MemoryError as OutOfMemoryError."""
    known = ("OutOfMemoryError" if name == "MemoryError" else str(name) for name in names)
    return next((name for name in known if name in _CODES), None)
