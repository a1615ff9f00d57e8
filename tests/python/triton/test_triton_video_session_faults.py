# SPDX-License-Identifier: Apache-2.0
"""What a dead or slow worker, a dead model and an impatient client cost the sessions of the model video_session."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.node import Settings
from tricodec.triton.serve import Server
from triton_testing import (
    connect,
    metric,
    running,
    variants,
    wait_until,
    workers,
)

pytestmark = pytest.mark.needs_triton

CLIP = "h264_bframes.mp4"
MODELS = {
    "video_session": {},
    "impatient": {"workers": "1", "timeout_ms": "2500"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(tmp_path_factory.mktemp("repository"), "video_session", **MODELS)
    node = Settings(gpus=(), workers=2)
    with Server(repository, None, ready_timeout_seconds=240, stop_timeout_seconds=5, node=node) as started:
        yield started


@pytest.fixture(scope="module")
def whole() -> Any:
    return tricodec.decode_video(generated(CLIP), device="cpu").frames


def videos_held(pid: int) -> int:
    return Path(f"/proc/{pid}/maps").read_text().count("memfd:tricodec-source")


def test_a_worker_that_dies_costs_its_sessions_an_error_and_the_others_nothing(server: Any, whole: Any) -> None:
    with connect(server.grpc_url) as client, client.open(generated(CLIP), 4) as first:
        first.read()
        (victim,) = [pid for pid in workers(server.pid, keep=True) if videos_held(pid)]
        with client.open(generated(CLIP), 4) as second:  # in the other worker
            second.read()
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: not running(victim), "the worker is dead")

            np.testing.assert_array_equal(second.read().frames, whole[4:8])
            with pytest.raises(ConnectionError, match=r"open (it|the session) again"):
                first.read()
            np.testing.assert_array_equal(second.read().frames, whole[8:12])
        with client.open(generated(CLIP), 4) as third:
            np.testing.assert_array_equal(third.read().frames, whole[:4])

    def lost() -> float:
        return metric(server.metrics_url, "tricodec_sessions_ended_total", model="video_session", reason="lost")

    wait_until(lambda: lost() == 1, "the loss is counted")


def test_a_client_with_retries_goes_on_at_the_next_frame_after_a_worker_died(server: Any, whole: Any) -> None:
    with connect(server.grpc_url, retries=3) as client, client.open(
        generated(CLIP), 4, start=1, stride=2
    ) as session:  # fmt: skip
        chunks = [session.read(), session.read(3)]
        (victim,) = [pid for pid in workers(server.pid, keep=True) if videos_held(pid)]
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: not running(victim), "the process is dead")
        chunks += session

    np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in chunks]), whole[1::2])


def test_a_chunk_that_takes_too_long_ends_its_worker_and_its_sessions(server: Any, whole: Any) -> None:
    with connect(server.grpc_url) as client, client.open(generated(CLIP), 4, model="impatient") as session:
        session.read()
        (worker,) = [pid for pid in workers(server.pid, keep=True) if videos_held(pid)]
        os.kill(worker, signal.SIGSTOP)
        with pytest.raises(TimeoutError, match="parameter timeout_ms"):
            session.read()
        with pytest.raises(ConnectionError, match=r"worker process that had it was replaced \(timeout\)"):
            session.read()

    with connect(server.grpc_url) as client, client.open(generated(CLIP), 4, model="impatient") as session:
        np.testing.assert_array_equal(session.read().frames, whole[:4])
    assert not running(worker)
