# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for a worker or for memory: in order of priority, and fair to the clients."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from tricodec.node._arena import Arena, Slab


@dataclasses.dataclass(eq=False)
class Request:
    """A request of a client, from its arrival to its answer."""

    client: Any  # that asked; None once it is gone
    number: int  # of the client's
    message: dict[str, Any]  # what the client asked
    files: list[int]  # the open files of its source; the node closes them
    device: str  # where it waits or runs: "cpu", "cuda:0"
    asked: str  # the device that the client named: "auto" may run anywhere
    need: int | None = None  # bytes of the result, once known
    arena: Arena | None = None  # of the memory for it, once known
    slab: Slab | None = None  # memory for it, once it has some
    on_gpu: tuple[Arena, Slab] | None = None  # the arena and memory of a result that goes to the host
    worker: Any = None  # that does it, while one does
    task: int = 0  # the worker's number of it
    has_parts: bool = False  # the client has a part of its outcome
    num_unread: int = 0  # parts that the client has not read
    is_cancelled: bool = False  # the client took it back while a worker did it
    is_again: bool = False  # it runs again, as another request ended the worker that had both
    deadline: float = 0.0  # by time.monotonic(), while a worker does it
    arrived: float = dataclasses.field(default_factory=time.monotonic)  # or since when it waits for memory

    @property
    def priority(self) -> int:
        """Smaller numbers come first."""
        return int(self.message.get("priority", 0))

    @property
    def is_task(self) -> bool:
        """Whether the client describes the work, which then waits for memory with its worker."""
        return bool(self.message["do"] == "task")

    @property
    def pin(self) -> str:
        """Requests with the same one are done by the same worker; "" is any."""
        return str(self.message.get("pin") or "")


class Queue:
    """Requests of one device that wait. The caller has the node's lock."""

    def __init__(self) -> None:
        self._waiting: list[Request] = []  # in their order of arrival
        self._served: dict[Any, int] = {}  # the turn in which a client was served last
        self._turn = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Any:
        return iter(list(self._waiting))

    def add(self, request: Request) -> None:
        """Lets a request wait."""
        self._waiting.append(request)

    def in_order(self) -> list[Request]:
        """The requests as they come: by priority, then from the client that was served longest ago, then by arrival."""
        return sorted(self._waiting, key=lambda each: (each.priority, self._served.get(each.client, 0), each.arrived))

    def remove(self, request: Request, *, served: bool = True) -> None:
        """Takes a request out, as a worker does it now, or as it has ended."""
        self._waiting.remove(request)
        if served:
            self._turn += 1
            self._served[request.client] = self._turn

    def forget(self, client: Any) -> list[Request]:
        """Takes out all requests of a client that is gone."""
        self._served.pop(client, None)
        gone = [each for each in self._waiting if each.client is client]
        self._waiting = [each for each in self._waiting if each.client is not client]
        return gone
