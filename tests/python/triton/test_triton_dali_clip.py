# SPDX-License-Identifier: Apache-2.0
"""DALI pipelines as models on a real tritonserver: dali_clip, and pipelines that users put in its place."""

from __future__ import annotations

import concurrent.futures
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_model import OWN, clip_tensors, expected_clip, own_model
from media import generated
from tricodec.node import Settings
from tricodec.triton.serve import Server
from triton_testing import infer, node_of, running, variants, wait_until, workers

pytestmark = [pytest.mark.needs_triton, pytest.mark.needs_dali]

CLIPS = ["hevc10.mkv", "h264_rot90.mp4"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(
        tmp_path_factory.mktemp("repository"), "dali_clip", dali_clip={"workers": "2"}, one_worker={"workers": "1"}
    )
    own_model(repository, "own", workers="1")
    whole_frames = OWN.replace("fn.reductions.max(frames, axes=[1, 2, 3])", "frames")
    own_model(repository, "strict", whole_frames, max_output_bytes="3000000", max_input_bytes="400000", workers="1")
    mistyped = OWN.replace("* factor, pts", "* fn.cast(factor, dtype=types.INT32), pts")
    own_model(repository, "mistyped", mistyped.replace("types.FLOAT) *", "types.INT32) *"), workers="1")
    with Server(repository, None, node=Settings(gpus=(), workers=1)) as started:
        yield started


def own_tensors(*names: str, factor: float = 1.0) -> dict[str, Any]:
    files = np.array([[generated(name).read_bytes()] for name in names], np.object_)
    return {"FILE": files, "FACTOR": np.full((len(names), 1), factor, np.float32)}


def expected_brightest(name: str) -> Any:
    return tricodec.decode_video(generated(name), color="gray").frames.max(axis=(1, 2, 3)).astype(np.float32)


@pytest.mark.parametrize("name", CLIPS)
def test_a_clip_is_that_of_the_python_door_and_numpy(server: Any, name: str) -> None:
    path = generated(name)
    clip, pts = expected_clip(path, 7)

    answer = infer(server.grpc_url, clip_tensors(7, data=path.read_bytes()), model="dali_clip")

    assert answer["CLIP"].dtype == np.float32
    assert answer["CLIP"].shape == (1, 3, 16, 112, 112)
    np.testing.assert_array_equal(answer["CLIP"][0], clip)
    np.testing.assert_array_equal(answer["PTS"][0], pts)


def test_requests_at_a_time_get_their_own_clips_and_their_own_errors(server: Any) -> None:
    from tritonclient.utils import InferenceServerException

    names = [*CLIPS, "no_video", *CLIPS, "no_video"]

    def ask(name: str) -> Any:
        data = b"no video" * 100 if name == "no_video" else generated(name).read_bytes()
        try:
            return infer(server.grpc_url, clip_tensors(2, data=data), model="dali_clip")["CLIP"][0]
        except InferenceServerException as error:
            return error.message()

    with concurrent.futures.ThreadPoolExecutor(6) as executor:
        answers = list(executor.map(ask, names))

    for name, answer in zip(names, answers, strict=True):
        if name == "no_video":
            assert answer.startswith("PipelineError: ")
        else:
            np.testing.assert_array_equal(answer, expected_clip(generated(name), 2)[0])


@pytest.mark.parametrize(
    ("start", "keep", "text"),
    [
        (20, None, r"^IndexError: 16 frames from 20 with stride 2 were asked for"),
        (0, 3000, r"^PipelineError: cannot open "),
    ],
)
def test_what_an_operator_refuses_is_told_without_the_servers_paths(
    server: Any, start: int, keep: int | None, text: str
) -> None:
    from tritonclient.utils import InferenceServerException

    data = generated("h264_bframes.mp4").read_bytes()[:keep]
    with pytest.raises(InferenceServerException) as caught:
        infer(server.grpc_url, clip_tensors(start, data=data), model="dali_clip")

    message = caught.value.message()
    assert re.match(text, message), message
    assert "INVALID_ARGUMENT" in caught.value.status()
    assert "dali.py" not in message
    assert "Critical error" not in message


def test_a_worker_that_dies_is_replaced(server: Any) -> None:
    before = workers(server.pid)
    assert len(before) == 1

    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: not running(before[0]), "the worker is gone")
    answer = infer(server.grpc_url, clip_tensors(0), model="one_worker")

    np.testing.assert_array_equal(answer["CLIP"][0], expected_clip(generated("h264_bframes.mp4"), 0)[0])
    assert workers(server.pid) != before
    assert node_of(server.pid).status()["why"]["crash"] == 1


def test_a_pipeline_of_the_users_own_is_served(server: Any) -> None:
    names = ["h264_bframes.mp4", "vp9_odd.webm"]  # files of different sizes in one request, as BYTES

    answer = infer(server.grpc_url, own_tensors(*names, factor=0.5), model="own")

    for index, name in enumerate(names):
        np.testing.assert_array_equal(answer["BRIGHTEST"][index], expected_brightest(name) * np.float32(0.5))
        np.testing.assert_array_equal(answer["PTS"][index], tricodec.decode_video(generated(name)).pts_seconds)


@pytest.mark.parametrize(
    ("model", "names", "text"),
    [
        ("own", ["h264_bframes.mp4", "h264_intra_only.mp4"], r"BRIGHTEST came out in different shapes, \(25,\), \(50,"),
        (
            "strict",
            ["h264_bframes.mp4"],
            r"RefusedError: the outputs take 11520400 bytes.*at most 3000000 .*max_output",
        ),
        ("strict", ["h264_1080p.mp4"], r"ValueError: FILE has \d+ bytes.*at most 400000 .*max_input_bytes"),
        ("mistyped", ["h264_bframes.mp4"], r"the pipeline gives BRIGHTEST as int32, and this model's .* float32"),
    ],
    ids=["different_shapes", "too_large_an_answer", "too_large_a_file", "another_dtype_than_configured"],
)
def test_what_the_model_refuses_is_named(server: Any, model: str, names: list[str], text: str) -> None:
    from tritonclient.utils import InferenceServerException

    with pytest.raises(InferenceServerException, match=text):
        infer(server.grpc_url, own_tensors(*names), model=model)


def test_pipelines_that_do_not_fit_their_configuration_are_refused_when_they_load(tmp_path: Path) -> None:
    own_model(tmp_path, "other_input", OWN.replace('name="FACTOR"', 'name="SCALE"'))
    own_model(tmp_path, "one_output", OWN.replace("* factor, pts", "* factor"))
    own_model(tmp_path, "other_name", OWN.replace("def pipeline()", "def preprocess()"))

    with pytest.raises(RuntimeError) as caught:
        Server(tmp_path, None).start()

    text = str(caught.value)
    assert "config.pbtxt has an input FACTOR, and the pipeline uses no external source of that name" in text
    assert "the pipeline has 1 outputs, and config.pbtxt names 2: BRIGHTEST, PTS" in text
    assert "has no attribute 'pipeline'" in text


def test_without_dali_the_model_says_what_to_install(tmp_path: Path) -> None:
    from tricodec.triton.serve.locate import create_environment

    environment = create_environment(tmp_path / "environment")
    (paths,) = environment.rglob("tricodec.pth")
    with paths.open("a") as file:
        file.write('import sys; sys.modules["nvidia.dali"] = None\n')  # what is not installed is not found either

    with pytest.raises(
        RuntimeError, match=r"needs NVIDIA DALI, which is not installed here: pip install tricodec\[dali\]"
    ):
        Server(models=["dali_clip"], execution_environment=environment).start()
