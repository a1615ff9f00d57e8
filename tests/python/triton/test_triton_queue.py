# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for a worker: no pauses in a burst, and a bound with a clear refusal."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.triton.serve import Server
from triton_testing import connect, stop_worker, variants, wait_until

pytestmark = pytest.mark.needs_triton

CLIP = "h264_bframes.mp4"
QUICK: dict[str, Any] = {"count": 4, "size": (56, 80)}
POLICY = """dynamic_batching {
  preferred_batch_size: [ 6 ] max_queue_delay_microseconds: 5000000 default_queue_policy { max_queue_size: 64 }
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository: Path = tmp_path_factory.mktemp("repository")
    variants(repository, "video_decode", video_decode={}, short={"workers": "1", "max_queue": "2"}, policy={})
    config = repository / "policy" / "config.pbtxt"
    text = config.read_text()
    shipped = "dynamic_batching { max_queue_delay_microseconds: 0 }"
    assert shipped in text
    config.write_text(text.replace(shipped, POLICY))
    with Server(repository, stop_timeout_seconds=5) as started:
        yield started


def test_requests_beyond_max_queue_are_refused_and_the_others_answered(server: Any) -> None:
    path = generated(CLIP)
    expected = tricodec.decode_video(path, device="cpu", **QUICK).frames

    def quick(_: int) -> Any:
        try:
            return client.decode_video(path, **QUICK).frames
        except ConnectionError as error:
            return error

    worker = stop_worker(server.pid, "short")
    try:
        with connect(server.grpc_url, model="short") as client, ThreadPoolExecutor(8) as threads:
            futures = [threads.submit(quick, number) for number in range(8)]
            wait_until(lambda: sum(future.done() for future in futures) == 5, "five are refused")
            os.kill(worker, signal.SIGCONT)
            found = [future.result() for future in futures]
    finally:
        os.kill(worker, signal.SIGCONT)

    refused = [answer for answer in found if isinstance(answer, ConnectionError)]
    answered = [answer for answer in found if not isinstance(answer, ConnectionError)]
    assert (len(answered), len(refused)) == (3, 5), "one is at work, and two wait"
    for frames in answered:
        np.testing.assert_array_equal(frames, expected)
    for error in refused:
        assert "2 requests wait for a worker of this model, which lets 2 wait (its parameter max_queue)" in str(error)
