# SPDX-License-Identifier: Apache-2.0
"""Triton models that end in a real network: labels over time, the same as with the network in plain Python."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from tricodec.serve import Server
from triton_testing import TEXT_CLIP, infer, shares_in_python, text_clip, variants, videos, wait_until

pytestmark = [pytest.mark.needs_triton, pytest.mark.needs_onnx]

NUM_FRAMES, FIRST, LAST = TEXT_CLIP
NAMES = {True: b"text", False: b"no text"}


@pytest.fixture(scope="module")
def clip() -> bytes:
    return text_clip()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "log.txt"


@pytest.fixture(scope="module")
def server(log: Path) -> Iterator[Any]:
    """A server that traces requests; nothing takes its spans."""
    settings = ("mode=opentelemetry", "opentelemetry,url=127.0.0.1:1/v1/traces", "rate=1", "level=TIMESTAMPS")
    with Server(
        models=["video_text"],
        parameters={"text_detector": {"threads": "1"}},
        extra_args=[f"--trace-config={setting}" for setting in settings],
        log_file=log,
        ready_timeout_seconds=240,
        stop_timeout_seconds=5,
    ) as started:
        yield started


def test_an_ensemble_labels_the_frames_of_a_video_as_the_network_does_in_python(server: Any, clip: bytes) -> None:
    outputs = infer(server.grpc_url, {"VIDEO": videos(clip)}, model="video_text")

    expected = shares_in_python(tricodec.decode_video(clip, device="cpu").frames)
    labels = [NAMES[FIRST <= number <= LAST] for number in range(NUM_FRAMES)]
    assert [NAMES[bool(share >= 0.05)] for share in expected] == labels
    assert outputs["LABELS"][0].tolist() == labels
    np.testing.assert_allclose(outputs["TEXT_SHARES"][0], expected, atol=2e-3)
    np.testing.assert_allclose(outputs["PTS"][0], np.arange(NUM_FRAMES) / 10)


def test_options_of_the_decoder_and_the_threshold_reach_their_models(server: Any, clip: bytes) -> None:
    options = {"start": 5, "stride": 3, "count": 4, "size": (90, 170)}
    shares = shares_in_python(tricodec.decode_video(clip, device="cpu", **options).frames)
    threshold = float(np.sort(shares)[1:3].mean())
    tensors = {name.upper(): np.atleast_2d(value) for name, value in options.items()}

    limits = {"VIDEO": videos(clip), "THRESHOLD": np.array([[threshold]], np.float32)}
    outputs = infer(server.grpc_url, {**tensors, **limits}, model="video_text")

    assert outputs["LABELS"][0].tolist() == [NAMES[bool(share >= threshold)] for share in shares]
    assert len(set(outputs["LABELS"][0])) == 2


def test_errors_of_the_decoder_and_the_network_are_those_of_the_request(server: Any, clip: bytes) -> None:
    from tritonclient.utils import InferenceServerException

    with pytest.raises(InferenceServerException, match=r"CorruptDataError: .*is not a supported media file"):
        infer(server.grpc_url, {"VIDEO": videos(b"no video")}, model="video_text")
    with pytest.raises(InferenceServerException, match="THRESHOLD is 2"):
        infer(server.grpc_url, {"VIDEO": videos(clip), "THRESHOLD": np.array([[2]], np.float32)}, model="video_text")
    assert len(infer(server.grpc_url, {"VIDEO": videos(clip)}, model="video_text")["LABELS"][0]) == NUM_FRAMES


def test_the_trace_of_a_client_is_in_the_log_with_the_error(server: Any, log: Path) -> None:
    """By HTTP: Triton 24.10 loses the header of about one gRPC request in eight."""
    trace = "0af7651916cd43dd8448eb211c80319c"
    video = {"name": "VIDEO", "shape": [1, 1], "datatype": "BYTES", "data": ["no video"]}
    request = urllib.request.Request(
        f"http://{server.http_url}/v2/models/video_decode/infer",
        json.dumps({"inputs": [video]}).encode(),
        {"traceparent": f"00-{trace}-b7ad6b7169203331-01"},
    )
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request)
    assert "CorruptDataError" in raised.value.read().decode()

    wait_until(lambda: f"video_decode: trace {trace}: CorruptDataError" in log.read_text(), "the line is in the log")


def test_without_its_packages_the_models_are_left_out_with_the_remedy(monkeypatch: Any) -> None:
    from tricodec.serve import repository

    monkeypatch.setattr(repository.importlib.util, "find_spec", lambda name: None)

    lacking = repository.lacking_models(repository.installed_repository())
    assert {"text_detector", "video_text"} <= set(lacking)
    assert "video_decode" not in lacking
    assert "pip install 'tricodec[onnx]'" in lacking["video_text"]


def test_a_device_that_does_not_run_the_network_keeps_the_model_from_loading(tmp_path: Path) -> None:
    with pytest.raises(
        RuntimeError, match=r"wrong_a did not load: parameter device is 'gpu'; accepted: cpu, "
    ) as raised:
        Server(variants(tmp_path, "text_detector", wrong_a={"device": "gpu"}, wrong_b={"device": "cuda:77"})).start()
    remedies = (
        r"(wrong_.) did not load: parameter device is 'cuda:77'.*?accepted are cpu, .*?pip install onnxruntime-gpu"
    )
    assert sorted(re.findall(remedies, str(raised.value))) == ["wrong_b"]


def test_gpus_of_a_server_decode_and_the_network_stays_where_its_parameter_says() -> None:
    from tricodec.serve import repository

    configs = repository.describe_models(repository.installed_repository(), ["video_text"], None, {}, [0])
    assert ["KIND_GPU" in configs[name] for name in ("video_decode", "text_detector")] == [True, False]
