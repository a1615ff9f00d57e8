# SPDX-License-Identifier: Apache-2.0
"""Copies of a model that import its class from where version 0.1 had it."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest
import tricodec
from media import generated
from tricodec.serve import Server
from triton_testing import connect

MODELS = Path(tricodec.__file__).parent / "model_repository"


@pytest.mark.parametrize("model", ["compress", "dali_pipeline", "video_decode", "video_transcode"])
def test_the_former_place_of_a_model_is_found_with_a_warning(model: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"is now tricodec\.triton_backend\.models\.{model}"):
        spec = importlib.util.find_spec(f"tricodec.triton_backend.{model}")

    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).parts[-3:] == ("triton_backend", "models", f"{model}.py")


def test_a_name_that_never_was_is_not_found() -> None:
    assert importlib.util.find_spec("tricodec.triton_backend.video_paint") is None


@pytest.mark.needs_triton
def test_a_model_with_the_former_import_is_served(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "video_decode", tmp_path / "video_decode")
    program = tmp_path / "video_decode" / "1" / "model.py"
    program.write_text(program.read_text().replace("triton_backend.models.", "triton_backend."))
    clip = generated("h264_bframes.mp4")

    with Server(tmp_path, ["video_decode"], stop_timeout_seconds=5) as server, connect(server.grpc_url) as client:
        video = client.decode_video(clip, count=2)

    assert video.frames.tobytes() == tricodec.decode_video(clip, count=2).frames.tobytes()
