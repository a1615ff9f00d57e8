# SPDX-License-Identifier: Apache-2.0
"""DALI pipelines as models with KIND_GPU instances: the shipped one, and one with operators that run on the GPU."""

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
from triton_testing import infer, variants

pytestmark = [pytest.mark.needs_triton, pytest.mark.needs_dali]

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
CLIPS = ["h264_bframes.mp4", "hevc10.mkv", "vp9_odd.webm", "h264_rot90.mp4"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = variants(tmp_path_factory.mktemp("models"), "dali_clip", shipped={"workers": "1"})
    own_model(folder, "mixed", ON_THE_GPU, CONFIG)
    own_model(folder, "inline", ON_THE_GPU, CONFIG, isolation="none")
    with Server(folder, models=None, gpus=[0], ready_timeout_seconds=180, stop_timeout_seconds=5) as started:
        yield started


@pytest.mark.parametrize("name", CLIPS)
def test_the_shipped_pipeline_gives_the_clips_of_the_cpu(server: Any, name: str) -> None:
    clip, pts = expected_clip(media.generated(name), 3)

    answer = infer(server.grpc_url, clip_tensors(3, data=media.generated(name).read_bytes()), model="shipped")

    np.testing.assert_array_equal(answer["CLIP"][0], clip)
    np.testing.assert_array_equal(answer["PTS"][0], pts)


@pytest.mark.parametrize("model", ["mixed", "inline"])
def test_requests_at_a_time_get_their_own_clips_and_their_own_errors(server: Any, model: str) -> None:
    from tritonclient.utils import InferenceServerException

    def ask(start: int) -> Any:
        data = b"no media" if start == 2 else None
        try:
            return infer(server.grpc_url, clip_tensors(start, data=data), model=model)["CLIP"][0]
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
