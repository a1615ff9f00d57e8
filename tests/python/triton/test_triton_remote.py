# SPDX-License-Identifier: Apache-2.0
"""Requests that name a video by its URL: models read it below the prefixes that the server allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from range_server import RangeServer, range_server
from tricodec.triton.serve import Server
from triton_testing import infer, videos

pytestmark = pytest.mark.needs_triton

CLIP = "h264_bframes.mp4"
MODELS = ["video_decode", "probe", "video_session", "video_stream", "video_transcode"]


@pytest.fixture(scope="module")
def web() -> Iterator[RangeServer]:
    with range_server() as running:
        running.put(f"videos/{CLIP}", generated(CLIP).read_bytes())
        running.put("secret.mp4", generated(CLIP).read_bytes())
        running.redirect("videos/leads_out.mp4", "/secret.mp4")
        yield running


@pytest.fixture(scope="module")
def server(web: RangeServer) -> Iterator[Any]:
    parameters = {"*": {"workers": "1", "allow_remote": f"s3://bucket/ {web.url}/videos/"}}
    with Server(None, MODELS, parameters=parameters, stop_timeout_seconds=5) as started:
        yield started


def test_every_model_of_videos_reads_a_url(client: Any, web: RangeServer) -> None:
    url = f"{web.url}/videos/{CLIP}"
    local = generated(CLIP)
    expected = tricodec.decode_video(local, stride=7, size=(48, 64)).frames

    np.testing.assert_array_equal(client.decode_video(url, stride=7, size=(48, 64)).frames, expected)
    chunks = [part.frames for part in client.stream_video(url, 3, stride=7, size=(48, 64))]
    np.testing.assert_array_equal(np.concatenate(chunks), expected)
    with client.open(url, 100, stride=7, size=(48, 64)) as session:
        np.testing.assert_array_equal(session.read().frames, expected)
    assert client.probe(url)["video"] == client.probe(local)["video"]
    assert client.transcode(url, num_threads=1).data == client.transcode(local, num_threads=1).data


def test_urls_outside_the_prefixes_are_refused_without_a_request(client: Any, web: RangeServer) -> None:
    web.forget()
    for name in ("secret.mp4", "videos/../secret.mp4", "videos/%2e%2e/secret.mp4"):
        with pytest.raises(tricodec.RefusedError, match=r"below no allowed prefix|has \. or \.\."):
            client.decode_video(f"{web.url}/{name}")
    with pytest.raises(tricodec.RefusedError, match="below no allowed prefix; allowed: s3://bucket/"):
        client.probe("http://169.254.169.254/latest/meta-data/")
    assert not web.paths


def test_a_request_has_the_bytes_or_the_url(server: Any, web: RangeServer) -> None:
    url = np.array([[f"{web.url}/videos/{CLIP}".encode()]], np.object_)
    both = {"VIDEO": videos(generated(CLIP).read_bytes()), "URL": url}
    for tensors in (both, {"COUNT": np.array([[1]])}):
        with pytest.raises(Exception, match="give either VIDEO, the bytes of a media file, or URL"):
            infer(server.grpc_url, tensors)
