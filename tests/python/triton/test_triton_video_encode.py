# SPDX-License-Identifier: Apache-2.0
"""The model video_encode on a real tritonserver makes the files that tricodec.encode_video makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.triton.serve import Server
from triton_testing import infer, variants

pytestmark = pytest.mark.needs_triton

FAST: dict[str, Any] = {"preset": "ultrafast", "crf": 20.0}

MODELS = {
    "video_encode": {"workers": "2"},
    "strict": {
        "workers": "1",
        "threads": "1",
        "max_width": "320",
        "max_height": "200",
        "max_frames": "10",
        "max_input_bytes": "2000000",
        "max_output_bytes": "20000",
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(tmp_path_factory.mktemp("repository"), "video_encode", **MODELS)
    with Server(repository, None) as started:
        yield started


def clip(count: int = 8, name: str = "h264_bframes.mp4", **options: Any) -> np.ndarray:
    return tricodec.decode_video(generated(name), count=count, **options).frames


def planes(name: str, format: str, count: int = 4) -> np.ndarray:
    with tricodec.FrameReader(generated(name)) as reader:
        return np.stack([reader[index].convert(format).to_ndarray() for index in range(count)])


@pytest.mark.parametrize(
    ("name", "format", "words"),
    [
        ("h264_bframes.mp4", "nv12", FAST),
        ("h264_444.mp4", "yuv444p", FAST),
        ("hevc10.mkv", "p010le", {"codec": "hevc", "container": "mkv"}),
    ],
)
def test_planes_give_the_bytes_of_the_python_door(client: Any, name: str, format: str, words: Any) -> None:
    frames = planes(name, format)

    file = client.encode_video(frames, format=format, **words)

    assert file == tricodec.encode_video(frames, device="cpu", format=format, **words)


def test_large_frames_give_the_bytes_of_the_python_door(client: Any) -> None:
    frames = clip(20)
    assert frames.nbytes > 1 << 20
    assert client.encode_video(frames, **FAST) == tricodec.encode_video(frames, device="cpu", **FAST)


def test_a_request_of_several_videos_has_a_file_for_each(server: Any) -> None:
    frames = np.stack([clip(4), clip(4)[::-1]])
    crf = np.array([[18.0], [40.0]], np.float32)
    preset = np.array([[b"ultrafast"]] * 2, np.object_)

    answer = infer(server.grpc_url, {"FRAMES": frames, "CRF": crf, "PRESET": preset}, model="video_encode")["VIDEO"]

    expected = [
        tricodec.encode_video(each, device="cpu", crf=q, preset="ultrafast")
        for each, q in zip(frames, (18, 40), strict=True)
    ]
    assert [bytes(file) for file in answer[:, 0]] == expected


@pytest.mark.parametrize(
    ("frames", "words", "kind", "text"),
    [
        (np.zeros((0, 16, 16, 3), np.uint8), {}, ValueError, "0 pictures"),
        (np.zeros((1, 15, 16, 3), np.uint8), {}, ValueError, "crop the frames"),
        (np.zeros((1, 16, 16, 3), np.float32), {}, TypeError, "float32"),
        (np.zeros((1, 17, 16), np.uint8), {"format": "nv12"}, ValueError, r"H \* 3 / 2"),
        (np.zeros((1, 16, 16, 3), np.uint8), {"container": "hls"}, ValueError, "CONTAINER.*mp4"),
        (np.zeros((1, 16, 16, 3), np.uint8), {"crf": (1.0, 2.0)}, ValueError, "^CRF: expected one value, got 2"),
        (np.zeros((1, 16, 16, 3), np.uint8), {"options": {"stats": "/tmp/x"}}, ValueError, "does not let.*'stats'"),
        (np.zeros((1, 16, 16, 3), np.uint8), {"num_threads": 1000}, ValueError, "NUM_THREADS is 1000.*threads"),
        (np.zeros((1, 16, 16, 3), np.uint8), {"container": "webm"}, tricodec.UnsupportedError, "cannot contain"),
        (np.zeros((1, 16, 16, 3), np.uint8), {"speed": 1}, TypeError, "encode_video has no option 'speed'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_is_not_accepted_is_named_in_the_exception(
    client: Any, frames: Any, words: Any, kind: Any, text: str
) -> None:
    with pytest.raises(kind, match=text):
        client.encode_video(frames, **words)


@pytest.mark.parametrize(
    ("frames", "words", "text"),
    [
        (np.zeros((11, 16, 16, 3), np.uint8), {}, "max_frames"),
        (np.zeros((10, 200, 320, 4), np.uint8), {}, "max_input_bytes"),
        (np.random.default_rng(1).integers(0, 255, (8, 90, 120, 3), np.uint8), {"crf": 5}, "max_output_bytes"),
    ],
)
def test_a_request_beyond_a_limit_is_refused_by_name(client: Any, frames: Any, words: Any, text: str) -> None:
    with pytest.raises((ValueError, tricodec.RefusedError), match=text):
        client.encode_video(frames, model="strict", **words)
