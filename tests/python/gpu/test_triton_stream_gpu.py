# SPDX-License-Identifier: Apache-2.0
"""The model `video_stream` with KIND_GPU instances: the frames of the CPU, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from tricodec.serve import Server
from triton_testing import connect, variants

pytestmark = pytest.mark.needs_triton

OPTIONS: dict[str, Any] = {"start": 3, "stride": 2, "size": (64, 96), "dtype": "float16", "layout": "CHW"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    models = {"gpu_threads": {"isolation": "none"}, "gpu_processes": {"workers": "1"}}
    folder = variants(tmp_path_factory.mktemp("models"), "video_stream", **models)
    with Server(folder, models=None, gpus=[0], ready_timeout_seconds=120, stop_timeout_seconds=5) as started:
        yield started


@pytest.mark.parametrize("model", ["gpu_threads", "gpu_processes"])
@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc10.mkv", "av1.mp4", "h264_rot90.mp4"])
def test_chunks_are_the_frames_of_the_cpu(server: Any, model: str, name: str) -> None:
    wanted = tricodec.decode_video(media.generated(name), device="cpu", **OPTIONS)
    with connect(server.grpc_url) as client:
        chunks = list(client.stream_video(media.generated(name), 5, model=model, **OPTIONS))

    assert [len(chunk.frames) for chunk in chunks[:-1]] == [5] * (len(chunks) - 1)
    np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in chunks]), wanted.frames)
    np.testing.assert_array_equal(np.concatenate([chunk.pts_seconds for chunk in chunks]), wanted.pts_seconds)


@pytest.mark.parametrize("model", ["gpu_threads", "gpu_processes"])
def test_no_frames_are_one_chunk_and_bad_files_the_requests_own_error(server: Any, model: str) -> None:
    with connect(server.grpc_url) as client:
        [chunk] = client.stream_video(media.generated("h264_bframes.mp4"), count=0, model=model, size=(20, 30))
        assert chunk.frames.shape == (0, 20, 30, 3)
        with pytest.raises(tricodec.CorruptDataError):
            next(client.stream_video(b"no media", model=model))
