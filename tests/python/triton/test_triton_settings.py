# SPDX-License-Identifier: Apache-2.0
"""What settings mean for a model."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from tricodec.triton_backend.runtime import pool
from tricodec.triton_backend.runtime.settings import (
    CODEC_PARAMETERS,
    VIDEO_PARAMETERS,
    Settings,
    parse_settings,
)
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
