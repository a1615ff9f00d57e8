# SPDX-License-Identifier: Apache-2.0
"""The model `video_session` with KIND_GPU instances: the frames of the CPU, in host memory and on the client's GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from tricodec.triton.serve import Server
from triton_testing import connect, variants

pytestmark = pytest.mark.needs_triton

OPTIONS: dict[str, Any] = {"size": (64, 96), "dtype": "float16", "layout": "CHW"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    models = {"gpu_threads": {"isolation": "none"}, "gpu_processes": {"workers": "1"}}
    folder = variants(tmp_path_factory.mktemp("models"), "video_session", **models)
    with Server(folder, models=None, gpus=[0], ready_timeout_seconds=120, stop_timeout_seconds=5) as started:
        yield started


def on_host(frames: Any) -> Any:
    return frames.numpy() if isinstance(frames, tricodec.DeviceArray) else frames


@pytest.mark.parametrize("cuda_device", [None, 0])
@pytest.mark.parametrize("model", ["gpu_threads", "gpu_processes"])
@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc10.mkv", "h264_rot90.mp4"])
def test_a_session_gives_the_frames_of_the_cpu(server: Any, model: str, name: str, cuda_device: int | None) -> None:
    whole = tricodec.decode_video(media.generated(name), device="cpu", **OPTIONS).frames
    with (
        connect(server.grpc_url, cuda_device=cuda_device) as client,
        client.open(media.generated(name), 5, model=model, **OPTIONS) as session,
    ):
        first = session.read()
        session.seek(3, stride=2, count=4)
        chosen = session.read()

    assert isinstance(first.frames, tricodec.DeviceArray) == (cuda_device is not None)
    np.testing.assert_array_equal(on_host(first.frames), whole[:5])
    np.testing.assert_array_equal(on_host(chosen.frames), whole[3:11:2])


@pytest.mark.parametrize("cuda_device", [None, 0])
@pytest.mark.parametrize("model", ["gpu_threads", "gpu_processes"])
def test_pushed_packets_give_the_frames_of_the_cpu(server: Any, model: str, cuda_device: int | None) -> None:
    clip = media.generated("h264_bframes.mp4")
    with (
        connect(server.grpc_url, cuda_device=cuda_device) as client,
        client.open(codec="h264", model=model, **OPTIONS) as session,
        tricodec.Demuxer(clip, annexb=True) as demuxer,
    ):
        chunks = [session.push(list(demuxer)), session.flush(), *session]

    frames = np.concatenate([on_host(chunk.frames) for chunk in chunks if len(chunk)])
    np.testing.assert_array_equal(frames, tricodec.decode_video(clip, device="cpu", **OPTIONS).frames)
