# SPDX-License-Identifier: Apache-2.0
"""The model video_decode on a real tritonserver gives what tricodec.decode_video gives."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import struct
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.triton.serve import Server
from triton_testing import (
    LONG_REQUEST,
    assert_same,
    connect,
    cpu_seconds,
    infer,
    long_video,
    metric,
    settled,
    videos,
    wait_until,
    workers,
)

pytestmark = pytest.mark.needs_triton


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with Server(models=["video_decode"], parameters={"video_decode": {"workers": "2"}}) as started:
        yield started


def clip(name: str = "h264_bframes.mp4") -> bytes:
    return generated(name).read_bytes()


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16"])
def test_a_client_gives_the_same_bytes(client: Any, dtype: str) -> None:
    video = client.decode_video(clip(), dtype=dtype, start=3)

    assert_same(video, tricodec.decode_video(clip(), dtype=dtype, start=3))


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (["FRAMES", "PTS"], {"FRAMES": np.uint8, "PTS": np.float64}),
        (["FRAMES_FP32"], {"FRAMES_FP32": np.float32}),
        (None, {"FRAMES": np.uint8, "PTS": np.float64, "NUM_DAMAGED_PACKETS": np.int64}),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else ("nothing_named" if value is None else ""),
)
def test_the_requested_output_decides_the_dtype(server: Any, outputs: list[str] | None, expected: Any) -> None:
    answer = infer(server.grpc_url, {"VIDEO": videos(clip()), "COUNT": np.array([[2]], np.int64)}, outputs)

    assert {name: array.dtype.type for name, array in answer.items() if name in expected} == expected
    if outputs is None:
        assert set(answer) == set(expected)


def test_a_request_of_three_videos_stacks_their_frames(server: Any) -> None:
    files = [clip(name) for name in ("h264_bframes.mp4", "vp9.webm", "av1.mp4")]
    starts = np.array([[0], [7], [30]], np.int64)
    size, count = np.array([[48, 64]] * 3, np.int64), np.array([[4]] * 3, np.int64)

    answer = infer(server.grpc_url, {"VIDEO": videos(*files), "START": starts, "SIZE": size, "COUNT": count})

    expected = [
        tricodec.decode_video(file, start=int(start), count=4, size=(48, 64))
        for file, start in zip(files, starts[:, 0], strict=True)
    ]
    np.testing.assert_array_equal(answer["FRAMES"], np.stack([video.frames for video in expected]))
    np.testing.assert_array_equal(answer["PTS"], np.stack([video.pts_seconds for video in expected]))


def test_every_video_of_a_request_has_its_damage_counted(server: Any) -> None:
    files = [clip("h264_open_gop.mkv"), clip("truncated.mkv"), clip("zeroed.mp4")]
    size, count = np.array([[48, 64]] * 3, np.int64), np.array([[29]] * 3, np.int64)

    answer = infer(server.grpc_url, {"VIDEO": videos(*files), "SIZE": size, "COUNT": count})

    counts = answer["NUM_DAMAGED_PACKETS"]
    assert (counts.dtype, counts.shape) == (np.int64, (3, 1))
    assert counts[:2].tolist() == [[0], [1]]  # the cut counts as one
    assert counts[2, 0] > 0


def test_simultaneous_requests_get_their_own_frames_and_a_bad_one_fails_alone(server: Any) -> None:
    files = [clip()] * 16
    files[5] = b"\0" * 1000
    options = {"size": (720, 1280), "resize": "bicubic"}
    with connect(server.grpc_url) as shared, concurrent.futures.ThreadPoolExecutor(16) as threads:
        futures = [
            threads.submit(shared.decode_video, file, start=i, count=3, **options) for i, file in enumerate(files)
        ]
        concurrent.futures.wait(futures)

    for index, future in enumerate(futures):
        if index == 5:
            assert isinstance(future.exception(), tricodec.CorruptDataError)
        else:
            assert_same(future.result(), tricodec.decode_video(files[index], start=index, count=3, **options))


def test_a_short_request_overtakes_a_long_one(server: Any, client: Any) -> None:
    both = workers(server.pid)
    used = {pid: cpu_seconds(pid) for pid in both}

    def busy() -> list[int]:
        return [pid for pid in both if cpu_seconds(pid) > used[pid] + 0.1]

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        long = thread.submit(client.decode_video, long_video(10_000), **LONG_REQUEST)
        wait_until(lambda: bool(busy()), "a worker begins to decode")
        (worker,) = busy()
        os.kill(worker, signal.SIGSTOP)  # the long request takes as long as the short ones need
        try:
            for _ in range(3):
                assert len(client.decode_video(clip(), count=1)) == 1
            assert not long.done()
        finally:
            os.kill(worker, signal.SIGCONT)
        assert len(long.result()) == 625


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"start": 1000}, IndexError, "start is 1000"),
        ({"start": 1.5}, TypeError, "start is 1.5; expected whole numbers"),
        ({"color": 5}, TypeError, "color is 5; expected text"),
        ({"crop": (1, 2, 3)}, ValueError, r"^CROP: expected 4 values \(top, left, height, width\), got 3"),
        ({"start": (1, 2)}, ValueError, "^START: expected one value, got 2"),
        ({"resize": "bilinaer"}, ValueError, "bilinaer.*bilinear"),
        ({"dtype": "int8"}, ValueError, "int8"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_is_not_accepted_is_named_in_the_exception(client: Any, options: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        client.decode_video(clip(), **options)


def test_a_client_of_a_server_that_is_not_there_says_so() -> None:
    with connect("127.0.0.1:1") as nowhere:
        assert not nowhere.is_ready()
        with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:1"):
            nowhere.decode_video(clip())


def test_http_gives_the_same_bytes(server: Any) -> None:
    # Triton's binary tensors by hand: a JSON header, then the bytes of each tensor; BYTES begin with a length.
    video = struct.pack("<I", len(clip())) + clip()
    tensor = {"name": "VIDEO", "datatype": "BYTES", "shape": [1, 1], "parameters": {"binary_data_size": len(video)}}
    output = {"name": "FRAMES_FP16", "parameters": {"binary_data": True}}
    header = json.dumps({"inputs": [tensor], "outputs": [output]}).encode()
    request = urllib.request.Request(f"http://{server.http_url}/v2/models/video_decode/infer", header + video)
    request.add_header("Inference-Header-Content-Length", str(len(header)))

    with urllib.request.urlopen(request) as response:
        header_size = int(response.headers["Inference-Header-Content-Length"])
        described = json.loads(response.read(header_size))["outputs"][0]
        frames = np.frombuffer(response.read(), np.float16).reshape(described["shape"])

    np.testing.assert_array_equal(frames[0], tricodec.decode_video(clip(), dtype="float16").frames)


def test_metrics_count_what_was_done(server: Any, client: Any) -> None:
    def numbers() -> list[float]:
        return [
            metric(server.metrics_url, "tricodec_requests_total", outcome="ok"),
            metric(server.metrics_url, "tricodec_frames_total"),
            metric(server.metrics_url, "tricodec_output_bytes_total"),
            metric(server.metrics_url, "tricodec_input_bytes_total"),
            metric(server.metrics_url, "tricodec_request_seconds_count"),
        ]

    client.decode_video(clip(), count=1)
    before = settled(numbers)
    client.decode_video(clip(), count=5)

    spent = [after - earlier for after, earlier in zip(settled(numbers, than=before), before, strict=True)]
    assert spent == [1, 5, 5 * 180 * 320 * 3, len(clip()), 1]
