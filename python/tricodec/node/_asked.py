# SPDX-License-Identifier: Apache-2.0
"""A task as its client sees it, from the request to the last part of its outcome."""

from __future__ import annotations

import dataclasses
import queue
from typing import Any

from tricodec.node._arrays import array_of
from tricodec.node._client import Answer, Connection
from tricodec.node._start import NodeLostError
from tricodec.node.tasks import Outcome, outcome_of


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """What the node says of a task."""

    outcome: Outcome | None  # a part of it, or all
    failure: dict[str, Any] | None
    """Why it failed: "kind" and "names" of the exception, "text", and "why" if its process was replaced: "crash",
    "timeout", "cancel" or "memory"."""
    is_last: bool  # the task has ended; without an outcome or a failure it was stopped


class Asked:
    """A task that was sent to a node; made by `Node.submit`. One thread at a time uses it."""

    def __init__(self, connection: Connection, message: dict[str, Any], file: int) -> None:
        """Sends it.

        Raises:
            NodeLostError: the node is gone.
        """
        self._connection = connection
        self._answers: queue.SimpleQueue[Answer | NodeLostError] = queue.SimpleQueue()
        self._number = connection.send(message, [file], self._answers.put)

    def get(self, seconds: float) -> Said | None:
        """What the node says next; None if it says nothing for so many seconds.

        Raises:
            NodeLostError: the node ended meanwhile.
        """
        try:
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(answer, NodeLostError):
            raise answer
        message, lease = answer
        if "block" not in message:
            return Said(None, message.get("failure"), is_last=True)
        array = array_of(lease)
        return Said(outcome_of(message["block"], array), None, is_last=not message.get("more"))

    def tell(self, what: str) -> None:
        """Says "next" when a part was read, "enough", or "cancel"; until the last answer more come."""
        self._connection.tell({"do": what, "request": self._number})
