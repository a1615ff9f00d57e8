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
from media import generated
from tricodec.serve import Server
from triton_testing import TEXT_CLIP, infer, metric, settled, shares_in_python, text_clip, variants, videos, wait_until

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
        models=["video_text", "video_text_bls"],
        parameters={"text_detector": {"threads": "1"}, "video_text_bls": {"threads": "1"}},
        extra_args=[f"--trace-config={setting}" for setting in settings],
        log_file=log,
        ready_timeout_seconds=240,
        stop_timeout_seconds=5,
    ) as started:
        yield started


def single(file: bytes) -> Any:
    return videos(file)[0]


def test_an_ensemble_labels_the_frames_of_a_video_as_the_network_does_in_python(server: Any, clip: bytes) -> None:
    outputs = infer(server.grpc_url, {"VIDEO": videos(clip)}, model="video_text")

    expected = shares_in_python(tricodec.decode_video(clip, device="cpu").frames)
    labels = [NAMES[FIRST <= number <= LAST] for number in range(NUM_FRAMES)]
    assert [NAMES[bool(share >= 0.05)] for share in expected] == labels
    assert outputs["LABELS"][0].tolist() == labels
    np.testing.assert_allclose(outputs["TEXT_SHARES"][0], expected, atol=2e-3)
    np.testing.assert_allclose(outputs["PTS"][0], np.arange(NUM_FRAMES) / 10)


def test_one_model_that_calls_the_decoder_gives_the_same_and_the_times_of_the_labels(server: Any, clip: bytes) -> None:
    of_ensemble = infer(server.grpc_url, {"VIDEO": videos(clip)}, model="video_text")

    outputs = infer(server.grpc_url, {"VIDEO": single(clip)}, model="video_text_bls")

    for name in ("LABELS", "PTS"):
        np.testing.assert_array_equal(outputs[name], of_ensemble[name][0])
    np.testing.assert_allclose(outputs["TEXT_SHARES"], of_ensemble["TEXT_SHARES"][0], atol=2e-3)
    np.testing.assert_allclose(outputs["SEGMENTS"], [[0, 0.7], [0.8, 1.9], [2.0, 2.9]])
    assert outputs["SEGMENT_LABELS"].tolist() == [b"no text", b"text", b"no text"]
    assert outputs["NUM_DAMAGED_PACKETS"].tolist() == [0]


@pytest.mark.parametrize(("model", "make", "axis"), [("video_text", videos, 1), ("video_text_bls", single, 0)])
def test_options_of_the_decoder_and_the_threshold_reach_their_models(
    server: Any, clip: bytes, model: str, make: Any, axis: int
) -> None:
    def option(*values: float) -> Any:
        array = np.array(values, np.float32 if isinstance(values[0], float) else np.int64)
        return array[np.newaxis] if axis else array

    tensors = {
        "VIDEO": make(clip),
        "START": option(5),
        "STRIDE": option(3),
        "COUNT": option(4),
        "SIZE": option(90, 170),
    }
    shares = shares_in_python(tricodec.decode_video(clip, start=5, stride=3, count=4, size=(90, 170)).frames)
    threshold = float(np.sort(shares)[1:3].mean())

    outputs = infer(server.grpc_url, {**tensors, "THRESHOLD": option(threshold)}, model=model)

    assert outputs["LABELS"].reshape(-1).tolist() == [NAMES[bool(share >= threshold)] for share in shares]
    assert len(set(outputs["LABELS"].reshape(-1))) == 2


@pytest.mark.parametrize(("model", "make"), [("video_text", videos), ("video_text_bls", single)])
def test_errors_of_the_decoder_and_the_network_are_those_of_the_request(
    server: Any, clip: bytes, model: str, make: Any
) -> None:
    from tritonclient.utils import InferenceServerException

    wrong = np.full((1, 1) if model == "video_text" else (1,), 2, np.float32)
    with pytest.raises(InferenceServerException, match=r"CorruptDataError: .*is not a supported media file"):
        infer(server.grpc_url, {"VIDEO": make(b"no video")}, model=model)
    with pytest.raises(InferenceServerException, match="THRESHOLD is 2"):
        infer(server.grpc_url, {"VIDEO": make(clip), "THRESHOLD": wrong}, model=model)
    assert len(infer(server.grpc_url, {"VIDEO": make(clip)}, model=model)["LABELS"].reshape(-1)) == NUM_FRAMES


def test_the_trace_of_a_client_reaches_the_model_that_is_called_and_its_log(server: Any, log: Path) -> None:
    """By HTTP: Triton 24.10 loses the header of about one gRPC request in eight."""
    trace = "0af7651916cd43dd8448eb211c80319c"
    video = {"name": "VIDEO", "shape": [1], "datatype": "BYTES", "data": ["no video"]}
    request = urllib.request.Request(
        f"http://{server.http_url}/v2/models/video_text_bls/infer",
        json.dumps({"inputs": [video]}).encode(),
        {"traceparent": f"00-{trace}-b7ad6b7169203331-01"},
    )
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request)
    assert "CorruptDataError" in raised.value.read().decode()

    wait_until(lambda: f"video_session: trace {trace}: CorruptDataError" in log.read_text(), "the line is in the log")


def test_a_model_that_calls_the_decoder_leaves_no_session_open(server: Any) -> None:
    def sessions() -> list[float]:
        name = "tricodec_sessions_opened_total"
        ended = [
            metric(server.metrics_url, "tricodec_sessions_ended_total", reason=each) for each in ("closed", "failed")
        ]
        return [metric(server.metrics_url, name), sum(ended)]

    infer(server.grpc_url, {"VIDEO": single(generated("h264_16x16.mp4").read_bytes())}, model="video_text_bls")

    opened, ended = settled(sessions)
    assert opened == ended >= 1


def test_without_its_packages_the_models_are_left_out_with_the_remedy(monkeypatch: Any) -> None:
    from tricodec.serve import repository

    monkeypatch.setattr(repository.importlib.util, "find_spec", lambda name: None)

    lacking = repository.lacking_models(repository.installed_repository())
    assert {"text_detector", "video_text", "video_text_bls"} <= set(lacking)
    assert "video_session" not in lacking
    assert "pip install 'tricodec[onnx]'" in lacking["video_text"]


def test_a_device_that_does_not_run_the_network_keeps_the_model_from_loading(tmp_path: Path) -> None:
    variants(tmp_path, "text_detector", wrong_a={"device": "gpu"}, wrong_b={"device": "cuda:77"})
    with pytest.raises(
        RuntimeError, match=r"wrong_a did not load: parameter device is 'gpu'; accepted: cpu, "
    ) as raised:
        Server(variants(tmp_path, "video_text_bls", wrong_c={"device": "cuda:77"}), None).start()
    remedies = (
        r"(wrong_.) did not load: parameter device is 'cuda:77'.*?accepted are cpu, .*?pip install onnxruntime-gpu"
    )
    assert sorted(re.findall(remedies, str(raised.value))) == ["wrong_b", "wrong_c"]


def test_gpus_of_a_server_decode_and_the_network_stays_where_its_parameter_says() -> None:
    from tricodec.serve import repository

    configs = repository.describe_models(repository.installed_repository(), ["video_text"], None, {}, [0])
    assert ["KIND_GPU" in configs[name] for name in ("video_decode", "text_detector")] == [True, False]
