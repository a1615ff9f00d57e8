# SPDX-License-Identifier: Apache-2.0
"""The same frames and words give the same file behind every door: Python, DALI, Triton."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import constant_source
from media import generated

pytestmark = [pytest.mark.needs_dali, pytest.mark.needs_triton]

# What libx264's mbtree decides depends on memory that it has not written (docs/encoding.md).
SAME = {"mbtree": "0"}

REQUESTS: dict[str, dict[str, Any]] = {
    "medium": {"options": SAME},
    "h264": {"preset": "fast", "crf": 23.0, "gop_size": 5, "num_b_frames": 2, "frame_rate": 25.0, "options": SAME},
    "h264_rate": {"bit_rate": 250_000, "frame_rate": 29.97, "container": "ts", "options": SAME},
    "hevc": {"codec": "hevc", "container": "mkv", "preset": "ultrafast", "crf": 30.0},
    "av1": {"codec": "av1", "preset": "12", "crf": 40.0},
    "raw_av1": {"codec": "av1", "preset": "12", "container": "raw"},
    "told": {"matrix": "bt709", "range": "full", "fast_start": True, "preset": "ultrafast"},
    "gray": {"color": "gray", "preset": "ultrafast"},
    "raw": {"container": "raw", "preset": "veryfast", "matrix": "bt709", "options": SAME},
    "lossless": {"pixel_format": "yuv444p", "preset": "ultrafast", "options": {"qp": "0"}, "fragmented": True},
    "planar": {"layout": "CHW", "color": "bgr", "preset": "ultrafast", "rotation": 180},
}


@pytest.fixture(scope="module")
def triton() -> Iterator[Any]:
    from tricodec.client import Client
    from tricodec.serve import Server

    with Server(models=("video_encode",)) as server, Client(server.grpc_url) as client:
        yield client


def by_dali(frames: np.ndarray, pts: np.ndarray, words: dict[str, Any]) -> bytes:
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    words = dict(words)
    if "options" in words:
        words["options"] = [f"{name}={value}" for name, value in words["options"].items()]
    pipe = Pipeline(batch_size=1, num_threads=2, device_id=None)
    with pipe:
        inputs = [fn.external_source(source=constant_source([each]), batch=True) for each in (frames, pts)]
        pipe.set_outputs(fn.tricodec.encode_video(*inputs, **words))
    pipe.build()
    return bytes(pipe.run()[0].at(0))


@pytest.mark.parametrize("name", REQUESTS)
def test_every_door_makes_the_same_file(triton: Any, name: str) -> None:
    words = REQUESTS[name]
    described = {word: words[word] for word in ("layout", "color") if word in words}
    video = tricodec.decode_video(generated("h264_vfr.mkv"), count=12, **described)

    expected = tricodec.encode_video(video.frames, video.pts_seconds, device="cpu", **words)

    assert by_dali(video.frames, video.pts_seconds, words) == expected
    assert triton.encode_video(video.frames, video.pts_seconds, **words) == expected
    assert len(tricodec.FrameReader(expected)) == 12
