# SPDX-License-Identifier: Apache-2.0
"""A model with a dead process comes back on a real tritonserver; readiness tells, clients may repeat."""

from __future__ import annotations

import concurrent.futures
import os
import shutil
import signal
import subprocess
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import least_seconds, pause
from tricodec.triton.serve import Server
from tricodec.triton.serve.repository import installed_repository
from triton_testing import (
    WAIT_SECONDS,
    again_if_triton_crashes,
    connect,
    ensemble_that_says_where,
    stop_worker,
    stubs,
    wait_until,
    workers,
)

pytestmark = pytest.mark.needs_triton

RETURN_SECONDS = 3.0
"""Within this a model is back on a machine with two free cores; a busy one gets several attempts."""

PARAMETERS = {"video_decode": {"workers": "2"}, "video_stream": {"workers": "1"}, "video_session": {"workers": "1"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = tmp_path_factory.mktemp("repository")
    for name in PARAMETERS:
        shutil.copytree(installed_repository() / name, repository / name)
    ensemble_that_says_where(repository, "video_decode", "kind: KIND_CPU count: 1")
    with Server(repository, parameters=PARAMETERS) as started:
        yield started


@pytest.fixture(scope="module")
def control(server: Any) -> Any:
    """The server's HTTP interface, without the key of its owner."""
    from tricodec.triton.serve.control import ControlError, ModelControl

    class Patient(ModelControl):
        def is_ready(self, model: str) -> bool:
            """On a busy machine a server that loads a model again answers late."""
            try:
                return super().is_ready(model)
            except ControlError:
                return False

    return Patient(server.http_url)


def kill_stub(server: Any, model: str) -> int:
    (stub,) = stubs(server.pid, model)
    os.kill(stub, signal.SIGKILL)
    return stub


def ask(client: Any, model: str, count: int) -> Any:
    """The first frames of the clip."""
    path = generated("h264_bframes.mp4")
    if model == "video_stream":
        return np.concatenate([chunk.frames for chunk in client.stream_video(path, 2, count=count)])
    if model == "video_session":
        return client.open(path, count).read().frames
    return client.decode_video(path, count=count).frames


def wait_until_noticed(server: Any, control: Any, model: str, killed: int, shown: str | None = None) -> None:
    """Waits until a model with a killed stub is not ready, or on a busy machine has another stub already."""
    wait_until(
        lambda: not control.is_ready(shown or model) or stubs(server.pid, model) not in ([], [killed]),
        f"{model} is not ready",
    )


@pytest.mark.parametrize("model", ["video_decode", "video_stream"])
@again_if_triton_crashes
def test_a_killed_model_is_not_ready_at_once_and_right_again_in_time(server: Any, control: Any, model: str) -> None:
    expected = tricodec.decode_video(generated("h264_bframes.mp4"), count=3).frames

    def come_back() -> float:
        killed = kill_stub(server, model)
        began = time.monotonic()
        wait_until_noticed(server, control, model, killed)
        noticed = time.monotonic() - began
        wait_until(lambda: control.is_ready(model), f"{model} is ready again")
        with connect(server.grpc_url) as client:
            frames = ask(client, model, 3)
        took = time.monotonic() - began
        np.testing.assert_array_equal(frames, expected)
        return max(took, RETURN_SECONDS * noticed)  # it is not ready within a second

    assert least_seconds(come_back, RETURN_SECONDS) < RETURN_SECONDS


@again_if_triton_crashes
def test_requests_in_flight_are_repeated_if_asked_for_and_lost_otherwise(server: Any, control: Any) -> None:
    """Two requests are at work in the process that dies, and one waits in it; Triton answers none of them."""
    path = generated("h264_bframes.mp4")
    wait_until(lambda: control.is_ready("video_decode"), "video_decode is ready")
    with (
        connect(server.grpc_url, retries=5) as patient,  # a busy machine may take longer than one waits
        connect(server.grpc_url, timeout_seconds=3) as other,
        concurrent.futures.ThreadPoolExecutor(3) as threads,
    ):
        for worker in workers(server.pid, "video_decode"):
            os.kill(worker, signal.SIGSTOP)
        repeated = [threads.submit(patient.decode_video, path, count=2) for _ in range(2)]
        pause(0.2)
        lost = threads.submit(other.decode_video, path, count=2)
        pause(0.3)
        kill_stub(server, "video_decode")
        videos = [video.result() for video in repeated]
        error = lost.exception()

    for video in videos:
        np.testing.assert_array_equal(video.frames, tricodec.decode_video(path, count=2).frames)
    assert isinstance(error, TimeoutError)


@again_if_triton_crashes
def test_a_stream_in_a_dead_process_is_repeated_before_its_first_chunk_and_ends_after_it(
    server: Any, control: Any
) -> None:
    path = generated("h264_bframes.mp4")
    with connect(server.grpc_url, retries=5) as client, concurrent.futures.ThreadPoolExecutor(1) as threads:
        begun = client.stream_video(path, 1, window=1)
        next(begun)
        stop_worker(server.pid, "video_stream")
        repeated = threads.submit(lambda: list(client.stream_video(path, 25, count=25)))
        pause(0.3)
        kill_stub(server, "video_stream")
        [chunk] = repeated.result()
        with pytest.raises(ConnectionError, match="lost the process"):
            list(begun)

    np.testing.assert_array_equal(chunk.frames, tricodec.decode_video(path, count=25).frames)


@pytest.mark.parametrize("model", ["video_decode", "video_stream", "video_session"])
@again_if_triton_crashes
def test_a_request_is_repeated_if_its_client_first_asks_when_the_model_is_back(
    server: Any, control: Any, monkeypatch: Any, model: str
) -> None:
    """And not while its process is alive: that has answered two pings before it dies."""
    from tricodec.triton.client import _connection

    is_back, pongs = threading.Event(), threading.Semaphore(0)
    check, take = _connection.ModelWatch.check, _connection.ModelWatch.take
    num_left = 2

    def patient_check(self: Any) -> None:
        if num_left or is_back.wait(WAIT_SECONDS):
            check(self)

    def counted_take(self: Any, result: Any, error: Any) -> None:
        nonlocal num_left
        take(self, result, error)
        if num_left and error is None:
            num_left -= 1
            pongs.release()

    wait_until(lambda: control.is_ready(model), f"{model} is ready")
    for worker in workers(server.pid, model):
        os.kill(worker, signal.SIGSTOP)
    monkeypatch.setattr(_connection, "_PING_SECONDS", 0.1)
    monkeypatch.setattr(_connection, "LOST_SECONDS", 0.0)
    monkeypatch.setattr(_connection.ModelWatch, "check", patient_check)
    monkeypatch.setattr(_connection.ModelWatch, "take", counted_take)
    with connect(server.grpc_url, retries=1) as client, concurrent.futures.ThreadPoolExecutor(1) as threads:
        repeated = threads.submit(ask, client, model, 2)
        assert all(pongs.acquire(timeout=WAIT_SECONDS) for _ in range(2))
        killed = kill_stub(server, model)
        wait_until(lambda: stubs(server.pid, model) not in ([], [killed]), f"{model} has another process")
        wait_until(lambda: control.is_ready(model), f"{model} is ready again")
        is_back.set()
        frames = repeated.result(WAIT_SECONDS)

    np.testing.assert_array_equal(frames, tricodec.decode_video(generated("h264_bframes.mp4"), count=2).frames)


def test_no_client_may_list_load_or_unload_models(server: Any, control: Any) -> None:
    from tricodec.triton.serve.control import ControlError
    from tritonclient.grpc import InferenceServerClient
    from tritonclient.utils import InferenceServerException

    for call in (control.states, lambda: control.unload("video_decode"), lambda: control.load("video_decode")):
        with pytest.raises(ControlError, match="restricted"):
            call()
    with InferenceServerClient(server.grpc_url) as client, pytest.raises(InferenceServerException):
        client.unload_model("video_decode")

    assert control.is_ready("video_decode")


@pytest.mark.parametrize(("thrown", "attempts"), [("boost::interprocess::lock_exception", 3), ("std::bad_alloc", 1)])
def test_a_test_is_repeated_after_the_known_crash_of_triton_alone(tmp_path: Path, thrown: str, attempts: int) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    log, runs = tmp_path / "server.log", []
    log.write_text(f"terminate called after throwing an instance of '{thrown}'\n")
    server = types.SimpleNamespace(pid=ended.pid, log_path=log, restart=lambda: None)

    @again_if_triton_crashes
    def fails(server: Any) -> None:
        runs.append(server)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        fails(server=server)
    assert len(runs) == attempts
