# SPDX-License-Identifier: Apache-2.0
"""Credits: how many answers of a stream may be on their way to a client that has not read them yet.

gRPC and Triton accept every answer at once, however slowly a client reads, so a model that just sends fills the memory
of the server. A client that wants a bound names its stream and grants answers; each answer takes a credit. A stream
without a credit waits with its worker, or is parked without one if other requests need the worker.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from tricodec.triton_backend.runtime.errors import Failure, UnavailableError, cancelled

_STREAM, _GRANT, _CREDITS = "tricodec_stream", "tricodec_grant", "tricodec_credits"
_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 0.05
"""It keeps its worker for so long although others wait: most clients read only a little slower than it decodes."""
_MOST_NAME = 128
_MOST_ENDED = 1000
"""Names that are kept of streams that have ended, because credits for them may be on their way."""


class Suspended:
    """A task that gave its worker away before it ended."""


@dataclasses.dataclass(slots=True)
class Stream:
    """The credits of one request, which are the answers that may be sent; without a bound if its client named none.

    Attributes:
        changed: guards all streams of a model.
        max_stall_ms: longest time to wait for a client that grants nothing.
    """

    changed: threading.Condition
    max_stall_ms: int
    name: str = ""
    credits: int = 0

    def grant(self, num_credits: int) -> None:
        """Adds credits."""
        with self.changed:
            self.credits += num_credits
            self.changed.notify_all()

    @property
    def has_credit(self) -> bool:
        """Whether an answer may be sent."""
        return not self.name or self.credits > 0

    def take(self) -> bool:
        """Takes a credit if there is one."""
        with self.changed:
            if not self.has_credit:
                return False
            self.credits -= 1
            return True

    def wait(self, is_gone: Callable[[], bool], is_contended: Callable[[], bool] = lambda: False) -> Failure | None:
        """Waits for a credit, or until other requests need the worker that waits here; returns why the stream ends."""
        began = time.monotonic()
        while not self.has_credit:
            now = time.monotonic()
            if is_gone():
                return cancelled()
            if now > began + self.max_stall_ms / 1000:
                return Failure(
                    "TimeoutError",
                    f"the client granted no answer for {self.max_stall_ms} ms (parameter max_stall_ms of the model); "
                    "read the stream faster, or ask for it again from the frame that is wanted with START",
                )
            if now > began + _PATIENCE_SECONDS and is_contended():
                break
            with self.changed:
                self.changed.wait(_POLL_SECONDS)
        return None


class Flow:
    """The streams of one model. Thread safety: safe.

    Attributes:
        num_parked: streams that wait for credits without a worker.
    """

    def __init__(self, max_stall_ms: int) -> None:
        self._max_stall_ms = max_stall_ms
        self._changed = threading.Condition()
        self._streams: dict[str, Stream] = {}
        self._ended: collections.deque[str] = collections.deque(maxlen=_MOST_ENDED)
        self.num_parked = 0

    def stream(self) -> Stream:
        """A stream without a bound."""
        return Stream(self._changed, self._max_stall_ms)

    def open(self, opened: Stream, request: Any) -> bool:
        """Gives a stream the name and the credits of its request; False if that only grants credits to another one.

        Raises:
            ValueError: naming the parameter that is not accepted.
            UnavailableError: credits for a stream of a process that died.
        """
        text = request.parameters()
        if _CREDITS not in text:
            return True
        parameters = json.loads(text)
        num_credits = parameters[_CREDITS]
        if not isinstance(num_credits, int) or isinstance(num_credits, bool) or num_credits < 1:
            raise ValueError(f"parameter {_CREDITS} is {num_credits!r}; expected a whole number of at least 1")
        name = str(parameters.get(_STREAM) or parameters.get(_GRANT) or "")
        if not 0 < len(name) <= _MOST_NAME:
            raise ValueError(f"{_CREDITS} needs the parameter {_STREAM}, a name of at most {_MOST_NAME} characters")
        with self._changed:
            stream = self._streams.get(name)
            if _GRANT in parameters:
                if stream is not None:
                    stream.grant(num_credits)
                elif name not in self._ended:
                    raise UnavailableError(
                        f"no stream has the name {name!r}: the process that it was in died; send the video again"
                    )
                return False
            if stream is not None:
                raise ValueError(f"parameter {_STREAM} names a stream that is open; choose a random name for each one")
            opened.name, opened.credits = name, num_credits
            self._streams[name] = opened
            return True

    def close(self, stream: Stream) -> None:
        """Forgets a stream that has ended."""
        with self._changed:
            if self._streams.pop(stream.name, None) is not None:
                self._ended.append(stream.name)

    def park(
        self, stream: Stream, is_gone: Callable[[], bool], proceed: Callable[[], None], fail: Callable[[Failure], None]
    ) -> None:
        """Lets a stream wait without a worker. Another thread calls `proceed` when it has credits, or `fail`."""

        def attend() -> None:
            failure = stream.wait(is_gone)
            with self._changed:
                self.num_parked -= 1
            fail(failure) if failure is not None else proceed()

        with self._changed:
            self.num_parked += 1
        threading.Thread(target=attend, name="tricodec-parked", daemon=True).start()
