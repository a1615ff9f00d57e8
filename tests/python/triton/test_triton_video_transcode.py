# SPDX-License-Identifier: Apache-2.0
"""The model video_transcode on a real tritonserver makes the files that tricodec.transcode makes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg, generated
from tricodec.triton.serve import Server
from triton_testing import infer, variants, videos

pytestmark = pytest.mark.needs_triton

FAST: dict[str, Any] = {"preset": "ultrafast", "crf": 22.0}

MODELS = {
    "video_transcode": {"workers": "2"},
    "strict": {"workers": "1", "max_frames": "20", "max_input_bytes": "1000000", "max_output_bytes": "30000"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(tmp_path_factory.mktemp("repository"), "video_transcode", **MODELS)
    with Server(repository, None) as started:
        yield started


def locally(path: Path, **words: Any) -> tricodec.encode.TranscodeResult:
    """The same by tricodec.transcode, in its own words."""
    container = words.pop("container", "mp4")
    words = {"num_threads": 1, **words}
    return tricodec.transcode(path, None, device="cpu", format=container, **words)


REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "hevc_mkv": ("h264_bframes.mp4", {"codec": "hevc", "container": "mkv", "preset": "ultrafast"}),
    "cropped": ("h264_bframes.mp4", {"crop": (10, 20, 64, 128), "pixel_format": "yuv420p", **FAST}),
    "range": ("h264_bframes.mp4", {"start": 0.4, "end": 1.2, "gop_size": 5, **FAST}),
    "times": ("h264_vfr.mkv", FAST),
    "fragmented_two_threads": ("hevc.mp4", {"fragmented": True, "num_threads": 2, **FAST}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_gives_the_result_of_the_python_door(client: Any, name: str) -> None:
    clip, words = REQUESTS[name]

    result = client.transcode(generated(clip), **words)

    assert result == locally(generated(clip), **words)
    assert result.data is not None


@pytest.mark.parametrize("audio", [True, False])
def test_audio_is_copied_if_it_is_wanted(client: Any, audio: bool, tmp_path: Path) -> None:
    clip = with_sound(tmp_path)

    result = client.transcode(clip, audio=audio, **FAST)

    kinds = [stream.kind for stream in tricodec.probe(result.data).streams]
    assert ("audio" in kinds) is audio
    assert (result.num_audio_packets > 0) is audio


def with_sound(folder: Path) -> bytes:
    path = folder / "sound.mp4"
    sources = "-f lavfi -i testsrc=size=64x48:rate=25:duration=1 -f lavfi -i sine=duration=1"
    ffmpeg(sources, "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac", path)
    return path.read_bytes()


def test_a_request_of_several_videos_has_a_file_for_each(server: Any) -> None:
    names = ["h264_bframes.mp4", "vp9.webm"]
    inputs = {
        "VIDEO": videos(*(generated(name).read_bytes() for name in names)),
        "SIZE": np.array([[48, 64], [64, 48]]),
        "PRESET": np.array([[b"ultrafast"]] * 2, np.object_),
    }

    answer = infer(server.grpc_url, inputs, ["VIDEO", "NUM_FRAMES"], model="video_transcode")

    for row, (name, size) in enumerate(zip(names, ((48, 64), (64, 48)), strict=True)):
        expected = locally(generated(name), size=size, preset="ultrafast")
        assert bytes(answer["VIDEO"][row, 0]) == expected.data
        assert answer["NUM_FRAMES"][row, 0] == expected.num_frames


@pytest.mark.parametrize(
    ("words", "kind", "text"),
    [
        ({"codec": "theora"}, ValueError, "CODEC"),
        ({"container": "webm"}, tricodec.UnsupportedError, "cannot contain"),
        ({"start": 2.0, "end": 1.0}, ValueError, "is empty; end must be after start"),
        ({"options": {"passlogfile": "/tmp/x"}}, ValueError, "passlogfile"),
        ({"num_workers": 2}, TypeError, "transcode has no option 'num_workers'"),
    ],
    ids=str,
)
def test_what_is_not_accepted_is_named_in_the_exception(client: Any, words: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        client.transcode(generated("h264_bframes.mp4"), **words)


@pytest.mark.parametrize(
    ("words", "text"),
    [({}, "max_frames"), ({"end": 0.5, "crf": 2.0, "preset": "ultrafast"}, "max_output_bytes")],
    ids=["frames", "output"],
)
def test_a_request_beyond_a_limit_is_refused_by_name(client: Any, words: Any, text: str) -> None:
    with pytest.raises(tricodec.RefusedError, match=text):
        client.transcode(generated("h264_bframes.mp4"), model="strict", **words)
