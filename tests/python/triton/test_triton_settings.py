# SPDX-License-Identifier: Apache-2.0
"""What settings mean for a model, what is checked before it serves, and the table of its sessions."""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
import queue
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from programs import limits
from tricodec.triton_backend.runtime import pool
from tricodec.triton_backend.runtime.block import Block, Outcome, lay_out
from tricodec.triton_backend.runtime.errors import BusyError, UnavailableError
from tricodec.triton_backend.runtime.guard import check_stub
from tricodec.triton_backend.runtime.pool import Pool
from tricodec.triton_backend.runtime.sessions import Sessions
from tricodec.triton_backend.runtime.settings import (
    CODEC_PARAMETERS,
    VIDEO_PARAMETERS,
    Settings,
    parse_settings,
)
from tricodec.triton_backend.runtime.slots import InlineSlot
from tricodec.triton_backend.runtime.task import Work
from triton_testing import wait_until


@pytest.mark.parametrize(
    ("device", "kind", "decided"),
    [
        ("auto", "CPU", "cpu"),
        ("cpu", "CPU", "cpu"),
        ("cuda:1", "CPU", "cuda:1"),
        ("auto", "GPU", "auto:2"),
        ("cuda", "GPU", "cuda:2"),
        ("cuda:2", "GPU", "cuda:2"),
    ],
)
def test_an_instance_decodes_on_its_device(device: str, kind: str, decided: str) -> None:
    assert Settings(device=device).for_instance(kind, 2).device == decided


def test_memory_of_workers_is_limited_where_no_driver_needs_it() -> None:
    assert Settings(device="cpu").worker_bytes == 8 << 30
    assert Settings(device="cpu", max_worker_bytes=1 << 30).worker_bytes == 1 << 30
    assert Settings().for_instance("GPU", 0).worker_bytes is None


@pytest.mark.parametrize(("seconds", "share"), [(1000.0, 4), (0.0, 8)], ids=["recently", "long_ago"])
def test_cores_are_shared_with_a_client_that_was_answered_recently(
    monkeypatch: Any, seconds: float, share: int
) -> None:
    monkeypatch.setattr(pool, "num_cores", lambda: 8)
    monkeypatch.setattr(pool, "_RECENT_SECONDS", seconds)
    shares: list[int] = []

    def work(work: Work, num_threads: int) -> None:
        shares.append(num_threads)
        work.data.wait(60)

    def begun() -> threading.Event:
        number, end = len(shares), threading.Event()
        tasks.submit(Work(None, end, bool), lambda _: None)  # type: ignore[arg-type]
        wait_until(lambda: len(shares) > number, "the task has begun")
        return end

    def finish(*ends: threading.Event) -> None:
        for end in ends:
            end.set()
        wait_until(lambda: tasks.num_waiting == -2, "no task is at work")

    slot: Any = SimpleNamespace(work=work, **dict.fromkeys(("open", "recover", "close"), lambda: None))
    tasks = pool.Pool([slot, slot], 0, 2)
    finish(begun(), begun())
    finish(begun())
    finish(begun())
    tasks.close()

    assert shares == [8, 4, share, 8], "two at a time, then one after another"


def test_models_take_the_parameters_that_mean_something_to_them() -> None:
    def configuration(**values: str) -> dict[str, dict[str, dict[str, str]]]:
        return {"parameters": {name: {"string_value": value} for name, value in values.items()}}

    assert parse_settings(configuration(trusted="true", EXECUTION_ENV_PATH="/x"), CODEC_PARAMETERS).trusted == "true"
    assert parse_settings(configuration(max_frames="3"), VIDEO_PARAMETERS).max_frames == 3
    with pytest.raises(ValueError, match=r"unknown parameter 'max_frames'.*trusted"):
        parse_settings(configuration(max_frames="3"), CODEC_PARAMETERS)
    with pytest.raises(ValueError, match="unknown parameter 'trusted'"):
        parse_settings(configuration(trusted="true"), VIDEO_PARAMETERS)
    with pytest.raises(ValueError, match="parameter trusted is 'yes'; accepted: true, false"):
        parse_settings(configuration(trusted="yes"), CODEC_PARAMETERS)


class FakeTensor:
    """A tensor of a stub with arrays that may have the wrong strides."""

    def __init__(self, name: str, array: Any) -> None:
        self.array = array

    def to_dlpack(self) -> Any:
        return self.array

    def as_numpy(self) -> Any:
        return self.array


class FakeStub:
    """The part of triton_python_backend_utils that the check uses."""

    def __init__(self, strides: tuple[int, ...]) -> None:
        class Tensor(FakeTensor):
            @staticmethod
            def from_dlpack(name: str, array: Any) -> FakeTensor:
                return FakeTensor(name, np.lib.stride_tricks.as_strided(array, strides=strides))

        self.Tensor = Tensor


def test_a_stub_that_keeps_tensors_passes() -> None:
    check_stub(FakeStub((1,)))


def test_a_stub_that_repeats_the_first_element_is_refused_with_the_remedy() -> None:
    with pytest.raises(RuntimeError, match=r"corrupts tensors under NumPy .*numpy<2"):
        check_stub(FakeStub((0,)))


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
