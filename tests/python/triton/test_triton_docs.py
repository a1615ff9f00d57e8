# SPDX-License-Identifier: Apache-2.0
"""The configurations of docs/howto/triton_ensembles.md are served by a real tritonserver as they stand there.

Only what the server has no backend for is put in place: the two ONNX files, by a model that gives back the beginning of
what it was handed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import REPOSITORY, generated
from tricodec.serve import Server
from triton_testing import infer

pytestmark = [pytest.mark.needs_triton, pytest.mark.needs_dali]

STAND_IN = """
import json
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        (output,) = json.loads(args["model_config"])["output"]
        self.length = output["dims"][0]

    def execute(self, requests):
        def logits(request):
            batch = pb_utils.get_input_tensor_by_name(request, "input").as_numpy()
            return pb_utils.Tensor("logits", batch.reshape(len(batch), -1)[:, : self.length].copy())
        return [pb_utils.InferenceResponse([logits(request)]) for request in requests]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = tmp_path_factory.mktemp("repository")
    text = (REPOSITORY / "docs" / "howto" / "triton_ensembles.md").read_text()
    for config in re.findall(r"^```pbtxt\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        (name,) = re.findall(r'^name: "(\w+)"', config, re.MULTILINE)
        (repository / name / "1").mkdir(parents=True)
        if 'backend: "onnxruntime"' in config:
            (repository / name / "1" / "model.py").write_text(STAND_IN)
        served = config.replace('backend: "onnxruntime"', 'backend: "python"')
        (repository / name / "config.pbtxt").write_text(served)
    for name in ("video_stream", "dali_clip"):
        shutil.copytree(Path(tricodec.__file__).parent / "model_repository" / name, repository / name)
    with Server(repository, ["classify_frames", "classify_clip"], stop_timeout_seconds=5) as started:
        yield started


def test_ensembles_of_the_page_bring_their_steps(server: Any) -> None:
    assert set(server.models) == {
        "classify_frames", "video_stream", "picture_classifier", "classify_clip", "dali_clip", "clip_classifier",
    }  # fmt: skip


def test_a_classifier_of_pictures_sees_the_frames_of_the_python_door(server: Any) -> None:
    import queue

    import tritonclient.grpc as triton_grpc

    path = generated("h264_bframes.mp4")
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    expected = tricodec.decode_video(path, stride=2, size=(224, 224), dtype="float32", layout="CHW", mean=mean, std=std)
    tensors = {
        "VIDEO": np.array([path.read_bytes()], np.object_),
        "LAYOUT": np.array([b"CHW"], np.object_),
        "SIZE": np.array([224, 224]),
        "STRIDE": np.array([2]),
        "MEAN": np.array(mean, np.float32),
        "STD": np.array(std, np.float32),
    }
    types = {"O": "BYTES", "l": "INT64", "f": "FP32"}
    inputs = [
        triton_grpc.InferInput(name, list(array.shape), types[array.dtype.char]).set_data_from_numpy(array)
        for name, array in tensors.items()
    ]

    answers: queue.Queue[Any] = queue.Queue()
    with triton_grpc.InferenceServerClient(server.grpc_url) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer("classify_frames", inputs)
        found = []
        while sum(len(scores) for scores, _ in found) < len(expected.frames):
            result, error = answers.get(timeout=60)
            assert error is None
            found.append((result.as_numpy("SCORES"), result.as_numpy("PTS")))

    assert [len(scores) for scores, _ in found] == [16, 9]
    beginnings = expected.frames.reshape(len(expected.frames), -1)[:, :1000]
    np.testing.assert_array_equal(np.concatenate([scores for scores, _ in found]), beginnings)
    np.testing.assert_array_equal(np.concatenate([pts for _, pts in found]), expected.pts_seconds)


def test_a_classifier_of_clips_gets_what_the_pipeline_makes(server: Any) -> None:
    video = np.fromfile(generated("h264_bframes.mp4"), np.uint8)[np.newaxis]
    tensors = {"VIDEO": video, "START": np.array([[5]])}

    clip = infer(server.grpc_url, tensors, ["CLIP"], model="dali_clip")["CLIP"]
    scores = infer(server.grpc_url, tensors, model="classify_clip")["SCORES"]

    assert np.ptp(scores) > 0
    np.testing.assert_array_equal(scores, clip.reshape(1, -1)[:, :400])
