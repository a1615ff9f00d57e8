# SPDX-License-Identifier: Apache-2.0
"""Triton models that end in a real network: labels over time, the same as with the network in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from tricodec.triton.serve import Server
from triton_testing import TEXT_CLIP, infer, shares_in_python, text_clip, videos

pytestmark = [pytest.mark.needs_triton, pytest.mark.needs_onnx]

NUM_FRAMES, FIRST, LAST = TEXT_CLIP
NAMES = {True: b"text", False: b"no text"}


@pytest.fixture(scope="module")
def clip() -> bytes:
    return text_clip()


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server that traces requests; nothing takes its spans."""
    settings = ("mode=opentelemetry", "opentelemetry,url=127.0.0.1:1/v1/traces", "rate=1", "level=TIMESTAMPS")
    with Server(
        models=["video_text"],
        parameters={"text_detector": {"threads": "1"}},
        extra_args=[f"--trace-config={setting}" for setting in settings],
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


def test_without_its_packages_the_models_are_left_out_with_the_remedy(monkeypatch: Any) -> None:
    from tricodec.triton.serve import repository

    monkeypatch.setattr(repository.importlib.util, "find_spec", lambda name: None)

    lacking = repository.lacking_models(repository.installed_repository())
    assert {"text_detector", "video_text"} <= set(lacking)
    assert "video_decode" not in lacking
    assert "pip install onnxruntime rapidocr-onnxruntime" in lacking["video_text"]
