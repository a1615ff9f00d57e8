# SPDX-License-Identifier: Apache-2.0
"""plan.json beside config.pbtxt: its request gives the defaults, and a foreign plan keeps a model from loading."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.serving import _plan_request
from tricodec.triton.serve import Server
from triton_testing import infer, variants, videos

pytestmark = pytest.mark.needs_triton

REQUEST: dict[str, Any] = {
    "start": 3, "stride": 2, "count": 5, "size": (56, 80), "layout": "CHW", "dtype": "float32",
    "mean": [0.4, 0.5, 0.6], "std": [0.25, 0.25, 0.25],
}  # fmt: skip
CLIP = "h264_bframes.mp4"


def save_plan(path: Path, **options: Any) -> tricodec.Plan:
    plan = tricodec.Plan(generated(CLIP), device="cpu", **options)
    plan.save(path)
    return plan


def make_foreign(path: Path) -> None:
    """Changes a plan to one of another machine."""
    data = _plan_request.read_plan(path)
    _plan_request.write_plan(path, dataclasses.replace(data, machine={**data.machine, "cpu": "Z80", "cores": "1"}))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = tmp_path_factory.mktemp("repository")
    variants(repository, "video_decode", planned={})
    save_plan(repository / "planned" / "plan.json", workers=1, num_workers=1, **REQUEST)
    with Server(repository, stop_timeout_seconds=5) as started:
        yield started


def test_a_request_that_says_nothing_is_that_of_the_plan(server: Any) -> None:
    clip = generated(CLIP)

    answer = infer(server.grpc_url, {"VIDEO": videos(clip.read_bytes())}, ["FRAMES_FP32", "PTS"], model="planned")

    expected = tricodec.decode_video(clip, device="cpu", **REQUEST)
    np.testing.assert_array_equal(answer["FRAMES_FP32"][0], expected.frames)
    np.testing.assert_array_equal(answer["PTS"][0], expected.pts_seconds)


def test_inputs_replace_values_of_the_plan_and_the_output_decides_the_dtype(server: Any) -> None:
    clip = generated(CLIP)
    tensors = {"VIDEO": videos(clip.read_bytes()), "START": np.array([[10]]), "SIZE": np.array([[40, 48]])}

    answer = infer(server.grpc_url, tensors, ["FRAMES"], model="planned")

    expected = tricodec.decode_video(clip, start=10, stride=2, count=5, size=(40, 48), layout="CHW", device="cpu")
    np.testing.assert_array_equal(answer["FRAMES"][0], expected.frames)


def test_a_foreign_plan_keeps_the_model_from_loading_and_names_the_fields(tmp_path: Path) -> None:
    variants(tmp_path / "repository", "video_decode", foreign={})
    path = tmp_path / "repository" / "foreign" / "plan.json"
    save_plan(path)
    make_foreign(path)

    with pytest.raises(RuntimeError) as raised:
        Server(tmp_path / "repository", stop_timeout_seconds=5).start()

    text = " ".join(str(raised.value).split())
    assert "cpu is 'Z80' in the plan and '" in text
    assert "UnsupportedError" in text
