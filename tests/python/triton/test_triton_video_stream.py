# SPDX-License-Identifier: Apache-2.0
"""The model video_stream on a real tritonserver gives the frames of video_decode as they are decoded."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg, generated
from tricodec.triton.serve import Server
from triton_testing import (
    assert_same,
    inputs_of,
    joined,
    metric,
    settled,
    variants,
    videos,
    wait_until,
    workers,
)

pytestmark = pytest.mark.needs_triton

MODELS = {
    "video_stream": {"workers": "2"},
    "one_worker": {"workers": "1"},
    "short": {"workers": "1", "max_output_bytes": "1100000"},
}

# What comes after a stream in an ensemble: a model of pictures, for which the frames of an answer are its batch.
MEAN = """
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        def mean(request):
            pictures = pb_utils.get_input_tensor_by_name(request, "PICTURE").as_numpy()
            assert pictures.ndim == 4
            return pb_utils.InferenceResponse([pb_utils.Tensor("MEAN", pictures.mean(axis=(2, 3), dtype="float64"))])
        return [mean(request) for request in requests]
"""
MEAN_CONFIG = """
name: "mean"
backend: "python"
max_batch_size: 64
input [ { name: "PICTURE" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] } ]
output [ { name: "MEAN" data_type: TYPE_FP64 dims: [ 3 ] } ]
"""
ENSEMBLE = """
name: "ensemble"
platform: "ensemble"
max_batch_size: 0
input [
  { name: "FILE" data_type: TYPE_STRING dims: [ 1 ] },
  { name: "LAYOUT" data_type: TYPE_STRING dims: [ 1 ] }
]
output [
  { name: "MEANS" data_type: TYPE_FP64 dims: [ -1, 3 ] },
  { name: "PTS" data_type: TYPE_FP64 dims: [ -1 ] }
]
ensemble_scheduling {
  step [
    {
      model_name: "video_stream"
      model_version: -1
      input_map { key: "VIDEO" value: "FILE" }
      input_map { key: "LAYOUT" value: "LAYOUT" }
      output_map { key: "FRAMES_FP32" value: "pictures" }
      output_map { key: "PTS" value: "PTS" }
    },
    {
      model_name: "mean"
      model_version: -1
      input_map { key: "PICTURE" value: "pictures" }
      output_map { key: "MEAN" value: "MEANS" }
    }
  ]
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(tmp_path_factory.mktemp("repository"), "video_stream", **MODELS)
    for name, config in (("mean", MEAN_CONFIG), ("ensemble", ENSEMBLE)):
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "config.pbtxt").write_text(config)
    (repository / "mean" / "1" / "model.py").write_text(MEAN)
    # Triton 24.10 does not always unload what has streamed (docs/reference/triton.md, Limitations).
    with Server(repository, None, stop_timeout_seconds=5) as started:
        yield started


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 frames: no machine decodes them within a second. Unlike a raw stream it is numbered without decoding."""
    path = tmp_path_factory.mktemp("long") / "long.mp4"
    ffmpeg("-stream_loop 399 -i", generated("h264_bframes.mp4"), "-c copy", path)
    return path


@pytest.mark.parametrize(
    ("model", "name", "options"),
    [
        (
            "video_stream",
            "h264_bframes.mp4",
            {"start": 7, "stride": 3, "count": 11, "size": (48, 64), "dtype": "float32"},
        ),
        ("video_stream", "hevc.mp4", {"dtype": "bfloat16", "crop": (4, 8, 32, 40), "count": 9}),
        ("one_worker", "truncated.mkv", {}),
    ],
)
def test_the_chunks_of_a_request_are_the_frames_of_the_python_door(
    client: Any, model: str, name: str, options: dict[str, Any]
) -> None:
    path = generated(name)
    expected = tricodec.decode_video(path, **options)

    chunks = list(client.stream_video(path, 4, model=model, **options))

    num_frames = len(expected.frames)
    assert [len(chunk.frames) for chunk in chunks] == [min(4, num_frames - i) for i in range(0, num_frames, 4)]
    assert_same(joined(chunks), expected)


def test_first_chunks_come_while_the_rest_is_not_decoded_and_closing_cancels_it(
    server: Any, client: Any, long_file: Path
) -> None:
    def restarts() -> float:
        return metric(server.metrics_url, "tricodec_worker_restarts_total", model="one_worker", reason="cancel")

    before = settled(lambda: [restarts()])[0]
    chunks = client.stream_video(long_file, 2, model="one_worker", size=(20, 30))

    assert [len(next(chunks).frames) for _ in range(3)] == [2, 2, 2]
    chunks.close()

    wait_until(lambda: restarts() == before + 1, "the worker of a stream that no client reads is stopped")
    assert len(list(client.stream_video(generated("h264_16x16.mp4"), 5, model="one_worker"))) > 0


def test_what_is_wrong_in_the_middle_comes_after_the_chunks_before_it(client: Any) -> None:
    path = generated("h264_size_change.h264")
    with tricodec.FrameReader(path) as reader:
        sizes = [(frame.width, frame.height) for frame in reader]
    odd = next(i for i, size in enumerate(sizes) if size != sizes[0])
    for model in ("video_stream", "one_worker"):
        chunks = client.stream_video(path, 4, model=model)

        before = [next(chunks) for _ in range(odd // 4)]

        assert_same(joined(before), tricodec.decode_video(path, count=odd // 4 * 4))
        with pytest.raises(tricodec.UnsupportedError, match=f"frame {odd} is .* pass size="):
            next(chunks)


def test_a_worker_that_dies_costs_its_stream_and_the_next_one_succeeds(
    server: Any, client: Any, long_file: Path
) -> None:
    path = generated("h264_bframes.mp4")
    chunks = client.stream_video(long_file, 1, model="one_worker", size=(20, 30))
    next(chunks)

    for pid in workers(server.pid):
        os.kill(pid, signal.SIGKILL)

    with pytest.raises(tricodec.errors.InternalError, match="died of SIGKILL and was replaced"):
        list(chunks)
    assert_same(joined(list(client.stream_video(path, 9, model="one_worker"))), tricodec.decode_video(path))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("h264_bframes.mp4", {"start": 7, "stride": 3, "dtype": "float32", "size": (90, 80)}),
        ("h264_bframes.mp4", {"indices": [40, 3, 3, 17, -1, 0, 25, 24, 23, 9, 8]}),
        ("h264_bframes.mp4", {"fps": 7.5, "end_s": 1.7}),
        ("h264_raw.h264", {"count": 20}),
    ],
)
def test_a_stream_in_several_requests_is_the_stream_in_one(client: Any, name: str, options: dict[str, Any]) -> None:
    expected = tricodec.decode_video(generated(name), device="cpu", **options)

    chunks = list(client.stream_video(generated(name), 3, model="short", **options))

    assert_same(joined(chunks), expected)
    assert len(chunks) == -(-len(expected.frames) // 3)


@pytest.mark.parametrize("model", ["video_stream", "one_worker"])
def test_more_streams_than_workers_take_turns_and_each_gives_its_own_frames(client: Any, model: str) -> None:
    names = ("h264_bframes.mp4", "hevc.mp4", "vp9.webm", "truncated.mkv")
    options = {"size": (24, 32), "model": model, "window": 2}
    streams = {name: client.stream_video(generated(name), 3, **options) for name in names}
    found: dict[str, list[tricodec.DecodedVideo]] = {name: [] for name in names}
    while streams:
        for name in list(streams):
            chunk = next(streams[name], None)
            if chunk is None:
                del streams[name]
            else:
                found[name].append(chunk)

    for name in names:
        assert_same(joined(found[name]), tricodec.decode_video(generated(name), size=(24, 32)))


class PlainStream:
    """A stream of tritonclient without tricodec.triton.client: the answers and errors that have come."""

    def __init__(self, url: str, model: str) -> None:
        import tritonclient.grpc as triton_grpc

        self.model = model
        self.came: list[Any] = []
        self.client = triton_grpc.InferenceServerClient(url)
        self.client.start_stream(lambda result, error: self.came.append(error or result))

    def send(self, video: bytes, **parameters: Any) -> None:
        inputs = inputs_of({"VIDEO": videos(video)[0], "CHUNK": np.array([1])})
        self.client.async_stream_infer(self.model, inputs, parameters=parameters)

    def __enter__(self) -> PlainStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_stream(cancel_requests=True)
        self.client.close()


@pytest.mark.parametrize("model", ["video_stream", "one_worker"])
def test_a_client_that_stops_reading_has_no_more_answers_than_it_granted(server: Any, model: str) -> None:
    video = generated("h264_bframes.mp4").read_bytes()
    num_frames = len(tricodec.FrameReader(video))
    with PlainStream(server.grpc_url, model) as stream:
        stream.send(video, tricodec_stream="one", tricodec_credits=3)
        for granted in (3, 5):
            wait_until(lambda granted=granted: len(stream.came) >= granted, "the answers that were granted")
            time.sleep(0.5)
            assert len(stream.came) == granted
            stream.send(b"", tricodec_grant="one", tricodec_credits=2 if granted == 3 else 1000)
        wait_until(lambda: len(stream.came) == num_frames, "all answers")
        frames = np.concatenate([answer.as_numpy("FRAMES") for answer in stream.came])

    np.testing.assert_array_equal(frames, tricodec.decode_video(video).frames)


def test_the_frames_of_an_answer_are_the_batch_of_the_next_model_of_an_ensemble(server: Any) -> None:
    import queue

    import tritonclient.grpc as triton_grpc

    path = generated("h264_bframes.mp4")
    inputs = inputs_of({"FILE": videos(path.read_bytes())[0], "LAYOUT": videos(b"CHW")[0]})
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    means, times, is_last = [], [], False
    with triton_grpc.InferenceServerClient(server.grpc_url) as plain:
        plain.start_stream(lambda result, error: answers.put((result, error)))
        plain.async_stream_infer("ensemble", inputs)
        while not is_last:
            result, error = answers.get(timeout=60)
            assert error is None
            means.append(result.as_numpy("MEANS"))
            times.append(result.as_numpy("PTS"))
            is_last = result.get_response().parameters["triton_final_response"].bool_param

    expected = tricodec.decode_video(path, dtype="float32", layout="CHW")
    assert [len(mean) for mean in means] == [16, 16, 16, 2]
    np.testing.assert_allclose(np.concatenate(means), expected.frames.mean(axis=(2, 3), dtype=np.float64))
    np.testing.assert_array_equal(np.concatenate(times), expected.pts_seconds)


def test_the_server_keeps_the_frames_of_one_request_at_most(server: Any, client: Any, long_file: Path) -> None:
    """Triton 24.10 keeps the answers of a request until it ends: 602 MB here, if it were one."""

    def resident() -> int:
        (line,) = re.findall(r"RssAnon:\s*(\d+) kB", Path(f"/proc/{server.pid}/status").read_text())
        return int(line) * 1024

    before = most = resident()
    num_bytes = 0
    for chunk in client.stream_video(long_file, size=(224, 224), count=4000):
        num_bytes += chunk.frames.nbytes
        most = max(most, resident())

    assert num_bytes == 4000 * 224 * 224 * 3
    assert most - before < 500e6
