# SPDX-License-Identifier: Apache-2.0
"""The open sessions of a model: what they hold, and when an idle one ends.

A session is what a client keeps open over many requests, all with one correlation id. Its state is in one
process of the node. Its tasks are done in their order. Triton does not report to a model that a sequence was idle for
too long or that its client is gone, so idle sessions end here.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from tricodec.triton_backend.runtime.errors import BusyError, Failure, UnavailableError
from tricodec.triton_backend.runtime.metrics import Metrics
from tricodec.triton_backend.runtime.settings import Settings
from tricodec.triton_backend.runtime.workers import Work, Workers
from tricodec.video.cores import num_cores

COUNTERS = {
    "sessions_opened_total": "Sessions opened",
    "sessions_ended_total": "Sessions ended, by reason: closed, expired, failed to open, or lost with a worker",
}
"""What Metrics counts for models with sessions."""

Key = int | str
"""The correlation id of a request."""

_MOST_ENDED = 1000
"""Ids of sessions that did not end by their clients, of which the reason is kept."""


@dataclasses.dataclass(slots=True)
class Session:
    """One open session.

    Attributes:
        key: its correlation id.
        pin: its name in the node, which no other session has.
        held_bytes: media that it holds in memory.
        num_threads: threads of its decoder; 0 leaves it to the library.
        options: of the request that opened it, which hold for the others too.
        tasks: those that wait, and first the one that is being done.
        idle_since: the time by the monotonic clock when it had none.
    """

    key: Key
    pin: str
    held_bytes: int
    num_threads: int
    options: Mapping[str, Any]
    tasks: collections.deque[tuple[Work, Callable[[Any], None]]] = dataclasses.field(default_factory=collections.deque)
    idle_since: float = dataclasses.field(default_factory=time.monotonic)


class Sessions:
    """The sessions of one model. Thread safety: safe."""

    def __init__(self, settings: Settings, workers: Workers, metrics: Metrics) -> None:
        """Has no session. Args: metrics has COUNTERS."""
        self._settings, self._workers, self._metrics = settings, workers, metrics
        self._changed = threading.Condition()
        self._open: dict[Key, Session] = {}
        self._ended: collections.OrderedDict[Key, str] = collections.OrderedDict()
        self._closed = False
        metrics.count("sessions_opened_total", 0)
        for reason in ("closed", "expired", "failed", "lost"):
            metrics.count("sessions_ended_total", 0, reason=reason)
        self._thread = threading.Thread(target=self._attend, name="tricodec-sessions", daemon=True)
        self._thread.start()

    def open(self, key: Key, num_bytes: int, options: Mapping[str, Any]) -> Session:
        """A new session, which will hold so many bytes of media. An open one with the same correlation id ends.

        Raises:
            BusyError: too many sessions are open, or they hold too much.
        """
        self.end(key)
        limit, most_bytes = self._settings.max_sessions, self._settings.max_sessions_bytes
        with self._changed:
            if len(self._open) >= limit:
                raise BusyError(
                    f"{len(self._open)} sessions are open, and this model keeps at most {limit} (its parameter "
                    "max_sessions); end sessions, or wait until idle ones expire"
                )
            held = sum(session.held_bytes for session in self._open.values())
            if held + num_bytes > most_bytes:
                raise BusyError(
                    f"the open sessions hold {held} bytes of media, this one adds {num_bytes}, and this model holds at "
                    f"most {most_bytes} (its parameter max_sessions_bytes); end sessions, or send smaller files"
                )
            self._open[key] = Session(key, secrets.token_hex(8), num_bytes, self._threads(), options)
            self._ended.pop(key, None)
            self._changed.notify_all()
            self._metrics.count("sessions_opened_total")
            return self._open[key]

    def find(self, key: Key) -> Session:
        """The open session of a correlation id.

        Raises:
            UnavailableError: there is none; the text has the reason.
        """
        with self._changed:
            if key in self._open:
                return self._open[key]
            reason = self._ended.get(key, "no request with the START flag has opened it in this process")
            raise UnavailableError(f"no session has the id {key!r}: {reason}; open it again")

    def submit(self, work: Work, done: Callable[[Any], None]) -> None:
        """Queues a task of a session; its `opens` and `ends` say whether the session begins and ends with it."""
        with self._changed:
            session = next((each for each in self._open.values() if each.pin == work.pin), None)
            if session is not None:
                session.tasks.append((work, done))
                is_next = len(session.tasks) == 1
                if work.task.ends:
                    self.end(session.key)
        if session is None:  # another request has ended it meanwhile
            done(Failure("UnavailableError", "this session has ended; open it again"))
        elif is_next:
            self._begin(session)

    def _begin(self, session: Session) -> None:
        work, done = session.tasks[0]
        self._workers.submit(work, functools.partial(self._finish, session, work.task, done))

    def end(self, key: Key, reason: str = "closed", text: str = "") -> None:
        """Ends a session if it is open. Args: reason is for the counter, text for later requests of the client."""
        with self._changed:
            session = self._open.pop(key, None)
            if session is None:
                return
            self._metrics.count("sessions_ended_total", reason=reason)
            if text:
                self._ended[key] = text
                if len(self._ended) > _MOST_ENDED:
                    self._ended.popitem(last=False)
            if not session.tasks:
                self._workers.forget(session.pin)

    def close(self) -> None:
        """Ends the watch for idle sessions."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _threads(self) -> int:
        """Of a new session's decoder: fewer, the more sessions can be at work beside it."""
        if self._settings.threads or self._settings.on_gpu:
            return self._settings.threads
        return max(1, num_cores() // min(len(self._open) + 1, self._settings.num_workers))

    def _finish(self, session: Session, task: Any, done: Callable[[Any], None], outcome: Any) -> None:
        has_failed = isinstance(outcome, Failure)
        with self._changed:
            session.tasks.popleft()
            session.idle_since = time.monotonic()
            held_bytes = None if has_failed else outcome.facts.get("held_bytes")
            if isinstance(held_bytes, int) and 0 <= held_bytes <= self._settings.max_input_bytes:  # not trusted
                session.held_bytes = held_bytes
            is_open = self._open.get(session.key) is session
            has_more = bool(session.tasks)
            self._changed.notify_all()
        if has_failed and is_open and outcome.lost:
            self.end(session.key, "lost", f"the worker process that had it was replaced ({outcome.lost})")
        elif has_failed and is_open and task.opens:
            self.end(session.key, "failed", f"it could not be opened ({outcome.text})")
        if has_more:
            self._begin(session)
        elif self._open.get(session.key) is not session:
            self._workers.forget(session.pin)
        done(outcome)

    def _attend(self) -> None:
        """Ends sessions that are idle for too long."""
        text = f"it had no request for {self._settings.max_idle_ms} ms (parameter max_idle_ms of the model)"
        with self._changed:
            while not self._closed:
                idle = [session for session in self._open.values() if not session.tasks]
                now = time.monotonic()
                ends = {session.key: session.idle_since + self._settings.max_idle_ms / 1000 for session in idle}
                for key in [key for key, end in ends.items() if end <= now]:
                    self.end(key, "expired", text)
                    del ends[key]
                self._changed.wait(min(ends.values()) - now if ends else None)
