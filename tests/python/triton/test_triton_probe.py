# SPDX-License-Identifier: Apache-2.0
"""The model probe on a real tritonserver says what the Python front end says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.triton.serve import Server
from triton_testing import infer, variants, videos

pytestmark = pytest.mark.needs_triton


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    models = {"probe": {"workers": "1"}, "strict": {"workers": "1", "max_input_bytes": "1000"}}
    repository = variants(tmp_path_factory.mktemp("repository"), "probe", **models)
    with Server(repository, None) as started:
        yield started


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "h264_rot90.mp4", "vp9.webm"])
def test_facts_are_those_of_the_python_front_end(client: Any, name: str) -> None:
    path = generated(name)
    expected = tricodec.probe(path.read_bytes()).to_dict()
    frames = tricodec.decode_video(path).frames

    facts = client.probe(path)
    video = facts.pop("video")

    assert facts | {"name": ""} == expected | {"name": ""}
    assert (video["num_frames"], video["height"], video["width"]) == frames.shape[:3]
    assert video["codec"] == expected["streams"][video["stream_index"]]["codec_name"]


def test_a_request_of_several_files_has_a_row_for_each(server: Any) -> None:
    files = [generated(name).read_bytes() for name in ("h264_bframes.mp4", "audio_only.m4a", "vp9.webm")]

    answer = infer(server.grpc_url, {"VIDEO": videos(*files)}, model="probe")

    sizes = [tricodec.decode_video(file, count=1).frames.shape if i != 1 else (0, 0, 0) for i, file in enumerate(files)]
    assert answer["HEIGHT"][:, 0].tolist() == [size[1] for size in sizes]
    assert answer["WIDTH"][:, 0].tolist() == [size[2] for size in sizes]
    assert answer["NUM_FRAMES"].dtype == np.int64
    assert answer["CODEC"][:, 0].tolist() == [b"h264", b"", b"vp9"]
    assert answer["FRAME_RATE"][:, 0].tolist() == [25.0, 0.0, 25.0]
    assert answer["SECONDS"][0, 0] == pytest.approx(2.0)


def test_a_file_without_video_has_no_video_and_its_stream_is_refused_by_number(client: Any) -> None:
    path = generated("audio_only.m4a")

    assert client.probe(path)["video"] is None
    with pytest.raises((ValueError, IndexError, tricodec.Error), match="stream"):
        client.probe(path, stream_index=7)
