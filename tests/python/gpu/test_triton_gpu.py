# SPDX-License-Identifier: Apache-2.0
"""Models with KIND_GPU instances: the frames and arrays of the CPU, as tensors on the GPU or on the host."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from dali_model import clip_tensors, expected_clip, own_model
from tricodec.triton.serve import Server
from triton_testing import connect, ensemble_that_says_where, infer, shares_in_python, text_clip, variants, videos

pytestmark = pytest.mark.needs_triton

OPTIONS: dict[str, Any] = {"stride": 3, "size": (64, 96), "dtype": "float32", "layout": "CHW"}
SESSION_OPTIONS: dict[str, Any] = {"size": (64, 96), "dtype": "float16", "layout": "CHW"}
CLIPS = ["h264_bframes.mp4", "hevc10.mkv", "vp9.webm", "av1.mp4", "mpeg2.ts"]
ALGORITHMS = ["LZ4", "Snappy", "Zstd", "Deflate", "Cascaded"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = variants(tmp_path_factory.mktemp("models"), gpu_decode={"workers": "2"})
    variants(folder, "video_transcode", gpu_transcode={"workers": "1"})
    variants(folder, "video_session", gpu_session={})
    variants(folder, "compress", pack={})
    variants(folder, "decompress", unpack={"trusted": "true"}, careful={"workers": "1"})
    ensemble_that_says_where(folder, "gpu_decode", "kind: KIND_GPU count: 1 gpus: [ 0 ]")
    with Server(folder, models=None, gpus=[0], ready_timeout_seconds=180, stop_timeout_seconds=5) as started:
        yield started


@pytest.mark.parametrize("name", CLIPS)
def test_frames_are_those_of_the_cpu(server: Any, name: str) -> None:
    wanted = tricodec.decode_video(media.generated(name), device="cpu", **OPTIONS)
    with connect(server.grpc_url, model="gpu_decode") as client:
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


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc10.mkv", "h264_rot90.mp4"])
def test_a_session_gives_the_frames_of_the_cpu(server: Any, name: str) -> None:
    whole = tricodec.decode_video(media.generated(name), device="cpu", **SESSION_OPTIONS).frames
    with (
        connect(server.grpc_url) as client,
        client.open(media.generated(name), 5, model="gpu_session", **SESSION_OPTIONS) as session,
    ):
        first = session.read()
        session.seek(3, stride=2, count=4)
        chosen = session.read()

    np.testing.assert_array_equal(first.frames, whole[:5])
    np.testing.assert_array_equal(chosen.frames, whole[3:11:2])


def test_pushed_packets_give_the_frames_of_the_cpu(server: Any) -> None:
    clip = media.generated("h264_bframes.mp4")
    with (
        connect(server.grpc_url) as client,
        client.open(codec="h264", model="gpu_session", **SESSION_OPTIONS) as session,
        tricodec.Demuxer(clip, annexb=True) as demuxer,
    ):
        chunks = [session.push(list(demuxer)), session.flush(), *session]

    frames = np.concatenate([chunk.frames for chunk in chunks if len(chunk)])
    np.testing.assert_array_equal(frames, tricodec.decode_video(clip, device="cpu", **SESSION_OPTIONS).frames)


def walk(dtype: str = "<i4") -> np.ndarray:
    return np.cumsum(np.random.default_rng(1).integers(-3, 4, (700, 500)), axis=1).astype(dtype)


@pytest.mark.parametrize("models", [("pack", "unpack"), ("pack", "careful")], ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_arrays_come_back(server: Any, models: tuple[str, str], algorithm: str) -> None:
    array = walk()
    with connect(server.grpc_url) as client:
        packed = client.compress(array, algorithm=algorithm, model=models[0])
        restored = client.decompress(packed, dtype="int32", shape=(-1, 500), model=models[1])

    np.testing.assert_array_equal(restored, array)
    codec = tricodec.Codec(algorithm=algorithm, device="cpu")
    assert bytes(codec.decode(packed)) == array.tobytes()


def test_damaged_data_of_strangers_do_not_reach_the_gpu(server: Any) -> None:
    good = np.asarray(tricodec.Codec(algorithm="LZ4", device="cpu").encode(walk()))
    random = np.random.default_rng(6)
    with connect(server.grpc_url) as client:
        for _ in range(30):
            bad = good.copy()
            bad[random.integers(100, len(bad), 20)] ^= 0x55
            try:
                client.decompress(bad, model="careful")
            except tricodec.CorruptDataError:
                continue
        np.testing.assert_array_equal(client.decompress(good, dtype="<i4", model="careful"), walk().reshape(-1))
        np.testing.assert_array_equal(client.decompress(good, dtype="<i4", model="unpack"), walk().reshape(-1))


INPUT: dict[str, Any] = {"stride": 2, "count": 16, "size": (128, 171), "layout": "CHW"}
INPUT |= {"mean": [109.0, 101.0, 96.0], "std": [58.0, 56.0, 55.0]}
ON_THE_GPU = f"""
import tricodec.dali
from nvidia.dali import fn, pipeline_def, types

@pipeline_def(batch_size=8, num_threads=2, device_id=0)
def pipeline():
    video = fn.external_source(name="VIDEO", dtype=types.UINT8, ndim=1)
    start = fn.external_source(name="START", dtype=types.INT64, ndim=1)
    frames, pts = fn.tricodec.decode_video(video, start=start, device="mixed", dtype=types.FLOAT, **{INPUT!r})
    return fn.flip(frames, horizontal=1), pts
"""
CONFIG = """
name: "NAME"
backend: "python"
max_batch_size: 4
input [ { name: "VIDEO" data_type: TYPE_UINT8 dims: [ -1 ] allow_ragged_batch: true },
        { name: "START" data_type: TYPE_INT64 dims: [ 1 ] } ]
output [ { name: "CLIP" data_type: TYPE_FP32 dims: [ 16, 3, 128, 171 ] },
         { name: "PTS" data_type: TYPE_FP64 dims: [ 16 ] } ]
instance_group [ { kind: KIND_GPU count: 1 gpus: [ 0 ] } ]
parameters { key: "workers" value { string_value: "2" } }
"""
DALI_CLIPS = ["h264_bframes.mp4", "hevc10.mkv", "vp9_odd.webm", "h264_rot90.mp4"]


@pytest.fixture(scope="module")
def dali_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = variants(tmp_path_factory.mktemp("models"), "dali_clip", shipped={"workers": "1"})
    own_model(folder, "mixed", ON_THE_GPU, CONFIG)
    with Server(folder, models=None, gpus=[0], ready_timeout_seconds=180, stop_timeout_seconds=5) as started:
        yield started


@pytest.mark.parametrize("name", DALI_CLIPS)
@pytest.mark.needs_dali
def test_the_shipped_pipeline_gives_the_clips_of_the_cpu(dali_server: Any, name: str) -> None:
    clip, pts = expected_clip(media.generated(name), 3)

    answer = infer(dali_server.grpc_url, clip_tensors(3, data=media.generated(name).read_bytes()), model="shipped")

    np.testing.assert_array_equal(answer["CLIP"][0], clip)
    np.testing.assert_array_equal(answer["PTS"][0], pts)


@pytest.mark.needs_dali
def test_requests_at_a_time_get_their_own_clips_and_their_own_errors(dali_server: Any) -> None:
    from tritonclient.utils import InferenceServerException

    def ask(start: int) -> Any:
        data = b"no media" if start == 2 else None
        try:
            return infer(dali_server.grpc_url, clip_tensors(start, data=data), model="mixed")["CLIP"][0]
        except InferenceServerException as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, [start % 4 for start in range(16)]))

    for number, answer in enumerate(answers):
        start = number % 4
        if start == 2:
            assert isinstance(answer, InferenceServerException), answer
            assert "PipelineError" in str(answer)
            continue
        wanted = tricodec.decode_video(
            media.generated("h264_bframes.mp4"), start=start, device="cpu", dtype="float32", **INPUT
        )
        np.testing.assert_array_equal(answer, wanted.frames[..., ::-1])
