# SPDX-License-Identifier: Apache-2.0
"""The table of sessions in the stub: which worker has one, and that nothing a worker reports harms the others."""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
import queue
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from programs import limits
from tricodec.triton_backend.runtime.block import Block, Outcome, lay_out
from tricodec.triton_backend.runtime.errors import BusyError, UnavailableError
from tricodec.triton_backend.runtime.pool import Pool
from tricodec.triton_backend.runtime.sessions import Sessions
from tricodec.triton_backend.runtime.settings import Settings
from tricodec.triton_backend.runtime.slots import InlineSlot
from tricodec.triton_backend.runtime.task import Work


@dataclasses.dataclass(frozen=True)
class Report:
    """A task that gives facts, and the thread that did it."""

    DOING: ClassVar[str] = "reporting"
    SHORTEN: ClassVar[str] = "report less"

    token: int
    opens: bool = False
    ends: bool = False
    facts: Any = None

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[list[Report]]:
        del data, settings, num_threads
        if self.facts is None:
            raise ValueError("no facts")
        yield [self]

    block = Block(lay_out([("|u1", (1,))]))

    def write(self, memory: mmap.mmap) -> None:
        """See Job."""

    def outcome(self) -> Outcome:
        return Outcome([np.zeros(1, np.uint8)], {**self.facts, "thread": threading.get_ident()})


class Counts:
    """Metrics that no test reads."""

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """See Metrics."""


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    settings = Settings(workers=2, isolation="none", max_sessions=4, max_sessions_bytes=1000)
    with limits():  # a slot sets the model's
        pool = Pool([InlineSlot(settings) for _ in range(2)], 1, 2, shared_queue=False)
        made = Sessions(settings, pool, Counts(), Report)  # type: ignore[arg-type]
        yield made
        made.close()
        pool.close()


def answered(sessions: Sessions, task: Report) -> Any:
    outcomes: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sessions.submit(Work(task, b"", lambda: False), outcomes.put)
    return outcomes.get(timeout=60)


def test_sessions_are_shared_out_among_the_workers_and_stay_with_theirs(sessions: Sessions) -> None:
    tokens = [sessions.open(key, 0, {}).token for key in ("a", "b", "c", "d")]

    threads = [[answered(sessions, Report(token, facts={})).facts["thread"] for _ in range(3)] for token in tokens]

    assert all(len(set(of_one)) == 1 for of_one in threads)
    assert sorted(len([first for first, *_ in threads if first == thread]) for thread in {t[0] for t in threads}) == [
        2,
        2,
    ]


@pytest.mark.parametrize("reported", ["x", -1, 10**30])
def test_a_report_that_makes_no_sense_changes_nothing(sessions: Sessions, reported: Any) -> None:
    token = sessions.open("a", 600, {}).token

    for _ in range(2):
        assert answered(sessions, Report(token, facts={"held_bytes": reported})).arrays
    with pytest.raises(BusyError, match="hold 600 bytes of media, this one adds 401"):
        sessions.open("b", 401, {})
    sessions.open("b", 400, {})


def test_what_a_session_holds_counts_and_an_end_frees_it(sessions: Sessions) -> None:
    token = sessions.open("a", 0, {}).token
    answered(sessions, Report(token, facts={"held_bytes": 900}))
    with pytest.raises(BusyError, match="max_sessions_bytes"):
        sessions.open("b", 101, {})

    answered(sessions, Report(token, ends=True, facts={}))

    sessions.open("b", 1000, {})
    with pytest.raises(UnavailableError, match="no session has the id 'a'"):
        sessions.find("a")
