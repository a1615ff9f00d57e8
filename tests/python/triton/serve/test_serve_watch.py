# SPDX-License-Identifier: Apache-2.0
"""A model with a dead process comes back on a real tritonserver; readiness tells, clients may repeat."""

from __future__ import annotations

import concurrent.futures
import os
import shutil
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import least_seconds, pause
from tricodec.triton.serve import Server
from tricodec.triton.serve.repository import installed_repository
from triton_testing import (
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
