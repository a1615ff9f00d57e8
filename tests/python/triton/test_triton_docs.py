# SPDX-License-Identifier: Apache-2.0
"""What pages show of Triton works as it stands there: files of models, and a request by curl."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import REPOSITORY
from tricodec.cli import main
from tricodec.triton.serve import Server

pytestmark = pytest.mark.needs_triton

PAGE = (REPOSITORY / "docs" / "howto" / "triton_ensembles.md").read_text()


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    models = tmp_path_factory.mktemp("repository") / "models"
    assert main(["serve", "--models-only", str(models), "--model", "video_decode"]) == 0
    for config in blocks("pbtxt"):
        (name,) = re.findall(r'^name: "(\w+)"', config, re.MULTILINE)
        (models / name / "1").mkdir(parents=True)
        (models / name / "config.pbtxt").write_text(config)
    (models / "picture_classifier" / "1" / "model.py").write_text(blocks("py")[0])
    with Server(models) as started:
        yield started


def test_a_model_of_the_page_gets_the_frames_of_the_decoder(server: Any, tmp_path: Path, monkeypatch: Any) -> None:
    assert len(blocks("py")[0].splitlines()) <= 16
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mp4").symlink_to(tricodec.sample_video())
    program = blocks("py")[1]
    found: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program.replace("127.0.0.1:8001", server.grpc_url), found)

    video = tricodec.decode_video(tricodec.sample_video(), device="cpu", size=(224, 224), dtype="float32", layout="CHW")
    np.testing.assert_allclose(found["scores"], video.frames.mean(axis=(2, 3)) / 255, atol=1e-4)
    np.testing.assert_array_equal(found["times"], video.pts_seconds)
    assert printed.getvalue().strip() == program.rpartition("# ")[2].strip()


START = (REPOSITORY / "docs" / "start" / "triton.md").read_text()


def test_curl_asks_as_the_first_page_says(tmp_path: Path) -> None:
    (tmp_path / "video.mp4").symlink_to(tricodec.sample_video())
    (command,) = blocks("sh", START)
    with Server(models=["probe"]) as server:
        command = command.replace("127.0.0.1:8000", server.http_url)
        answer = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True).stdout

    outputs = {each["name"]: each["data"] for each in json.loads(answer)["outputs"]}
    assert outputs == {"NUM_FRAMES": [132], "WIDTH": [1280]}
