# SPDX-License-Identifier: Apache-2.0
"""Triton models that end in a real network: labels over time, the same as with the network in plain Python."""

from __future__ import annotations

import importlib.util
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tricodec
from media import generated
from PIL import Image, ImageDraw, ImageFont
from triton_testing import infer, metric, settled, videos, wait_until

pytestmark = [pytest.mark.needs_triton, pytest.mark.needs_onnx]

NUM_FRAMES, FIRST, LAST = 30, 8, 19
"""Frames of the clip, and of them the first and the last one with text."""
NAMES = {True: b"text", False: b"no text"}


def picture(number: int) -> npt.NDArray[np.uint8]:
    """A frame of the clip: a moving gradient, for a while with four lines of text."""
    rows, columns = np.mgrid[0:180, 0:320]
    gradient = np.stack([columns // 2 + 2 * number, rows + number, (rows + columns) // 3], axis=-1)
    image = Image.fromarray(gradient.astype(np.uint8))
    if FIRST <= number <= LAST:
        for line in range(4):
            text = f"Line {line} of frame {number}"
            ImageDraw.Draw(image).text((12, 14 + 38 * line), text, "white", ImageFont.load_default(24))
    return np.asarray(image)


@pytest.fixture(scope="module")
def clip() -> bytes:
    frames = np.stack([picture(number) for number in range(NUM_FRAMES)])
    return tricodec.encode_video(frames, codec="h264", frame_rate=10, crf=18, preset="veryfast")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "log.txt"


@pytest.fixture(scope="module")
def server(log: Path) -> Iterator[Any]:
    """A server that traces requests; nothing takes its spans."""
    from tricodec.serve import Server

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


def shares_in_python(frames: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """The part of each frame's pixels that the network calls text, by onnxruntime and numpy in float64."""
    import onnxruntime

    found = importlib.util.find_spec("rapidocr_onnxruntime")
    assert found is not None
    assert found.origin is not None
    session = onnxruntime.InferenceSession(Path(found.origin).parent / "models" / "ch_PP-OCRv4_det_infer.onnx")
    height, width = frames.shape[1:3]
    shares = []
    for frame in frames:
        normalized = (frame / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        padded = np.pad(normalized, ((0, -height % 32), (0, -width % 32), (0, 0)))
        tensor = padded.transpose(2, 0, 1)[np.newaxis].astype(np.float32)
        (probabilities,) = session.run(None, {session.get_inputs()[0].name: tensor})
        shares.append((probabilities[0, 0, :height, :width] >= 0.3).mean())
    return np.array(shares)


def single(*files: bytes) -> Any:
    """The tensor VIDEO of a model without a batch dimension."""
    return np.array(files, np.object_)


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
