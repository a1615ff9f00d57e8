# SPDX-License-Identifier: Apache-2.0
"""The model `video_decode` with KIND_GPU instances: the frames of the CPU, as tensors on the GPU or on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from tricodec.triton.serve import Server
from triton_testing import connect, ensemble_that_says_where, infer, shares_in_python, text_clip, variants, videos

pytestmark = pytest.mark.needs_triton

OPTIONS: dict[str, Any] = {"stride": 3, "size": (64, 96), "dtype": "float32", "layout": "CHW"}
CLIPS = ["h264_bframes.mp4", "hevc10.mkv", "vp9.webm", "av1.mp4", "mpeg2.ts"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = variants(
        tmp_path_factory.mktemp("models"), gpu_threads={"isolation": "none"}, gpu_processes={"workers": "2"}
    )
    variants(folder, "video_encode", gpu_encode={"workers": "1"}, gpu_encode_threads={"isolation": "none"})
    variants(folder, "video_transcode", gpu_transcode={"workers": "1"})
    ensemble_that_says_where(folder, "gpu_threads", "kind: KIND_GPU count: 1 gpus: [ 0 ]")
    with Server(folder, models=None, gpus=[0], ready_timeout_seconds=120) as started:
        yield started


@pytest.mark.parametrize("model", ["gpu_threads", "gpu_processes"])
@pytest.mark.parametrize("name", CLIPS)
def test_frames_are_those_of_the_cpu(server: Any, model: str, name: str) -> None:
    wanted = tricodec.decode_video(media.generated(name), device="cpu", **OPTIONS)
    with connect(server.grpc_url, model=model) as client:
        video = client.decode_video(media.generated(name), **OPTIONS)

    np.testing.assert_array_equal(video.frames, wanted.frames)
    np.testing.assert_array_equal(video.pts_seconds, wanted.pts_seconds)


def test_the_next_model_of_an_ensemble_gets_frames_on_the_gpu(server: Any) -> None:
    clip = media.generated("h264_bframes.mp4")

    answer = infer(
        server.grpc_url, {"VIDEO": videos(clip.read_bytes()), "SIZE": np.array([[32, 48]])}, ["FRAMES", "ON_CPU"],
        model="decode_where",
    )  # fmt: skip

    assert answer["ON_CPU"].tolist() == [[0]]
    wanted = tricodec.decode_video(clip, device="cpu", size=(32, 48)).frames
    np.testing.assert_array_equal(answer["FRAMES"][0], wanted)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_a_client_gets_frames_in_memory_of_its_gpu(server: Any, dtype: str) -> None:
    pytest.importorskip("tritonclient.utils.cuda_shared_memory")
    options = {**OPTIONS, "dtype": dtype}
    with connect(server.grpc_url, model="gpu_threads", cuda_device=0) as client:
        video = client.decode_video(media.generated("h264_bframes.mp4"), **options)

    assert isinstance(video.frames, tricodec.DeviceArray)
    wanted = tricodec.decode_video(media.generated("h264_bframes.mp4"), device="cpu", **options).frames
    np.testing.assert_array_equal(video.frames.numpy(), wanted)


def test_a_gpu_decodes_for_a_transcode(server: Any) -> None:
    with connect(server.grpc_url) as client:
        result = client.transcode(media.generated("h264_bframes.mp4"), size=(64, 96), model="gpu_transcode")

    wanted = tricodec.transcode(
        media.generated("h264_bframes.mp4"), None, format="mp4", size=(64, 96), num_threads=1, device="auto"
    )
    assert result == wanted


@pytest.mark.needs_onnx_gpu
def test_a_network_on_the_gpu_labels_the_frames_of_its_decoder_as_it_does_in_python_on_the_cpu() -> None:
    """A GPU adds in another order, which moves some pixels of 57,600 over the network's threshold."""
    clip, on_gpu = text_clip(), {"device": "cuda:0"}
    parameters = {"video_text": {}, "text_detector": on_gpu}
    with Server(None, list(parameters), parameters=parameters, gpus=[0], ready_timeout_seconds=120) as started:
        answer = infer(started.grpc_url, {"VIDEO": videos(clip)}, ["LABELS", "TEXT_SHARES"], model="video_text")

    shares = shares_in_python(tricodec.decode_video(clip, device="cpu").frames)
    labels = [b"text" if share >= 0.05 else b"no text" for share in shares]
    assert len(set(labels)) == 2
    assert answer["LABELS"].reshape(-1).tolist() == labels
    np.testing.assert_allclose(answer["TEXT_SHARES"].reshape(-1), shares, atol=2e-3)
