# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in the model video_decode costs one request: crashes, hangs, limits; on a real tritonserver."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import damaged_clips
import numpy as np
import pytest
import tricodec
from h264_writer import Picture, first_block
from media import generated
from tricodec.node import Settings
from tricodec.triton.serve import Server
from triton_testing import (
    LONG_REQUEST,
    connect,
    cpu_seconds,
    descendants,
    inputs_of,
    long_video,
    metric,
    node_of,
    running,
    stop_worker,
    variants,
    videos,
    wait_until,
    workers,
)

pytestmark = pytest.mark.needs_triton

MODELS = {
    "one_worker": {"workers": "1"},
    "impatient": {"workers": "1", "timeout_ms": "700"},
    "strict": {
        "workers": "1",
        "max_width": "320",
        "max_height": "200",
        "max_frames": "10",
        "max_input_bytes": "200000",
        "max_output_bytes": "1000000",
    },
    "short": {"workers": "1", "max_queue": "2"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(tmp_path_factory.mktemp("repository"), **MODELS)
    with Server(repository, None, node=Settings(gpus=(), workers=1)) as started:
        yield started


def decode(server: Any, model: str, *arguments: Any, **options: Any) -> tricodec.DecodedVideo:
    with connect(server.grpc_url, model=model) as client:
        return client.decode_video(*arguments, **options)


def in_time(server: Any, model: str, *arguments: Any, **options: Any) -> tricodec.DecodedVideo:
    """The same of a model with a short deadline, which a busy machine may miss at first."""
    videos: list[tricodec.DecodedVideo] = []

    def has_answered() -> bool:
        with contextlib.suppress(TimeoutError):
            videos.append(decode(server, model, *arguments, **options))
        return bool(videos)

    wait_until(has_answered, f"{model} answers in time")
    return videos[0]


def restarts(server: Any, model: str, reason: str) -> float:
    return metric(server.metrics_url, "tricodec_worker_restarts_total", model=model, reason=reason)


def clip(name: str = "h264_bframes.mp4") -> bytes:
    return generated(name).read_bytes()


def wait_until_busy(pid: int) -> None:
    idle = cpu_seconds(pid)
    wait_until(lambda: cpu_seconds(pid) > idle + 0.1, f"worker {pid} begins to decode")


def test_a_worker_that_is_killed_costs_its_request_and_the_next_one_succeeds(server: Any) -> None:
    (worker,) = workers(server.pid)
    crashes = restarts(server, "one_worker", "crash")

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        lost = thread.submit(decode, server, "one_worker", long_video(), **LONG_REQUEST)
        wait_until_busy(worker)
        os.kill(worker, signal.SIGKILL)
        error = lost.exception()
    video = decode(server, "one_worker", clip(), count=2)

    assert isinstance(error, tricodec.errors.InternalError)
    assert "died of SIGKILL and was replaced" in str(error)
    np.testing.assert_array_equal(video.frames, tricodec.decode_video(clip(), count=2).frames)
    assert workers(server.pid) != [worker]
    wait_until(lambda: restarts(server, "one_worker", "crash") == crashes + 1, "the crash is counted")


def test_a_request_that_takes_too_long_is_stopped_and_its_worker_replaced(server: Any) -> None:
    worker = stop_worker(server.pid)

    with pytest.raises(TimeoutError, match="700 ms"):
        decode(server, "impatient", clip(), count=1)

    assert not running(worker)
    assert len(in_time(server, "impatient", clip(), count=1)) == 1


def test_a_cancelled_request_frees_its_worker(server: Any) -> None:
    import tritonclient.grpc as triton_grpc

    (worker,) = workers(server.pid)
    cancelled = restarts(server, "one_worker", "cancel")
    options = {name.upper(): np.atleast_2d(value) for name, value in LONG_REQUEST.items()}
    inputs = inputs_of({"VIDEO": videos(long_video()), **options})

    with triton_grpc.InferenceServerClient(server.grpc_url) as client:
        call = client.async_infer("one_worker", inputs, callback=lambda result, error: None)
        wait_until_busy(worker)
        call.cancel()
        wait_until(lambda: not running(worker), "the worker is stopped")

    assert len(decode(server, "one_worker", clip(), count=1)) == 1
    wait_until(lambda: restarts(server, "one_worker", "cancel") == cancelled + 1, "the restart is counted")


def test_requests_beyond_max_queue_are_refused_and_the_others_answered(server: Any) -> None:
    path = generated("h264_bframes.mp4")
    expected = tricodec.decode_video(path, device="cpu", count=4, size=(56, 80)).frames

    def quick(_: int) -> Any:
        try:
            return client.decode_video(path, count=4, size=(56, 80)).frames
        except ConnectionError as error:
            return error

    worker = stop_worker(server.pid)
    try:
        with connect(server.grpc_url, model="short") as client, concurrent.futures.ThreadPoolExecutor(8) as threads:
            futures = [threads.submit(quick, number) for number in range(8)]
            wait_until(lambda: sum(future.done() for future in futures) == 5, "five are refused")
            os.kill(worker, signal.SIGCONT)
            found = [future.result() for future in futures]
    finally:
        os.kill(worker, signal.SIGCONT)

    refused = [answer for answer in found if isinstance(answer, ConnectionError)]
    answered = [answer for answer in found if not isinstance(answer, ConnectionError)]
    assert (len(answered), len(refused)) == (3, 5), "one is at work, and two wait"
    for frames in answered:
        np.testing.assert_array_equal(frames, expected)
    for error in refused:
        assert "2 requests wait for a worker of this model, which lets 2 wait (its parameter max_queue)" in str(error)


@pytest.mark.parametrize(
    ("options", "text"),
    [({}, "max_frames"), ({"count": 7}, "max_output_bytes"), ({"count": 1, "size": (2000, 2000)}, "max_height")],
    ids=str,
)
def test_a_request_beyond_a_limit_is_refused_by_name(server: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(tricodec.RefusedError, match=text):
        decode(server, "strict", clip(), **options)


def test_a_request_past_the_memory_of_a_worker_fails_alone(tmp_path: Path) -> None:
    most = 300 + 16 * (os.cpu_count() or 1) << 20
    node = Settings(gpus=(), workers=1, memory=64 << 20, worker_memory=most)
    with Server(models=["video_decode"], node=node) as server:
        _run_out_of_memory(server)


def _run_out_of_memory(server: Any) -> None:
    (worker,) = workers(server.pid)
    stream = first_block(8192, 8192)
    for number in range(1, 4):
        stream.skip(Picture(frame_num=number, poc=2 * number))

    with pytest.raises(tricodec.OutOfMemoryError):
        decode(server, "video_decode", bytes(stream.data), size=(64, 64))

    assert len(decode(server, "video_decode", clip(), count=2)) == 2
    assert workers(server.pid) != [worker]  # what it keeps for later could leave too little memory
    wait_until(lambda: restarts(server, "video_decode", "memory") == 1, "the restart is counted")


@pytest.mark.parametrize(
    "name",
    ["truncated.mkv", "of_two_sizes"],
)
def test_damaged_files_give_what_the_python_door_gives(server: Any, name: str) -> None:
    def outcome(call: Any) -> Any:
        try:
            video = call()
        except tricodec.Error as error:
            return type(error)
        return video.frames.tobytes(), video.num_damaged_packets

    data = clip(name) if "." in name else getattr(damaged_clips, name)()

    assert outcome(lambda: decode(server, "one_worker", data)) == outcome(lambda: tricodec.decode_video(data))


def test_an_answered_request_holds_no_memory_of_the_node(server: Any) -> None:
    assert len(decode(server, "one_worker", clip(), count=2)) == 2
    wait_until(lambda: node_of(server.pid).status()["leases"] == 0, "the frames are given back")


def test_a_node_that_is_killed_is_started_again_for_the_next_request(server: Any) -> None:
    before = node_of(server.pid).status()
    os.kill(before["process"], signal.SIGKILL)
    wait_until(lambda: not running(before["process"]), "the node is gone")

    assert len(decode(server, "one_worker", clip(), count=2)) == 2
    after = node_of(server.pid).status()
    assert after["process"] != before["process"]
    assert after["devices"]["cpu"]["memory_bytes"] == before["devices"]["cpu"]["memory_bytes"]
    assert len(after["devices"]["cpu"]["processes"]) == 1


def test_a_parameter_that_is_not_accepted_keeps_the_model_from_loading(tmp_path: Path) -> None:
    server = Server(variants(tmp_path, wrong={"timeout_ms": "soon"}), None)
    with pytest.raises(RuntimeError) as caught:
        server.start()

    assert server.pid is None
    assert not [pid for pid in descendants(os.getpid()) if "/models/wrong" in Path(f"/proc/{pid}/cmdline").read_text()]
    expected = "wrong did not load: parameter timeout_ms is 'soon'; expected a whole number of at least 1"
    assert expected in str(caught.value)
