# SPDX-License-Identifier: Apache-2.0
"""`tricodec serve` starts its server again when a process of it dies, and leaves nothing when it is killed itself."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import pause
from tricodec.triton.serve.host import PrivateFolder
from triton_testing import command, connect, descendants, running, stop_worker, stubs, wait_until

pytestmark = pytest.mark.needs_triton

CLIP = "h264_bframes.mp4"
MODELS = ("video_decode", "video_stream", "video_session")


@dataclasses.dataclass(frozen=True)
class Served:
    """A running command."""

    process: subprocess.Popen[str]
    url: str

    @property
    def server(self) -> int:
        """The process id of its tritonserver."""
        (found,) = [pid for pid in descendants(self.process.pid) if "bin/tritonserver" in command(pid).split(" ")[0]]
        return found

    def kill_stub(self, model: str) -> None:
        (stub,) = stubs(self.server, model)
        os.kill(stub, signal.SIGKILL)


@contextlib.contextmanager
def serve(*models: str) -> Iterator[Served]:
    options = "serve --json --http-port 0 --grpc-port 0 --metrics-port 0 --workers 1".split()
    for model in models:
        options += ["--model", model]
    with subprocess.Popen([sys.executable, "-m", "tricodec", *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Served(process, json.loads(process.stdout.readline())["grpc"])
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A command that ends when its server dies four times within two minutes: there are three tests of it."""
    with serve(*MODELS) as started:
        yield started


def frames(**options: Any) -> Any:
    return tricodec.decode_video(generated(CLIP), device="cpu", **options).frames


def test_requests_of_a_killed_model_are_repeated_if_asked_for_and_fail_otherwise(served: Served) -> None:
    """One request is at work in the process that dies, and one waits in it; Triton would answer none of them."""
    with (
        connect(served.url, retries=5) as patient,
        connect(served.url) as other,
        concurrent.futures.ThreadPoolExecutor(2) as threads,
    ):
        stop_worker(served.server)
        repeated = threads.submit(patient.decode_video, generated(CLIP), count=2)
        lost = threads.submit(other.decode_video, generated(CLIP), count=2)
        pause(0.5)
        served.kill_stub("video_decode")
        video, error = repeated.result(), lost.exception()

    np.testing.assert_array_equal(video.frames, frames(count=2))
    assert isinstance(error, ConnectionError)


def test_a_stream_of_a_killed_model_is_repeated_before_its_first_chunk_and_ends_after_it(served: Served) -> None:
    with connect(served.url, retries=5) as client, concurrent.futures.ThreadPoolExecutor(1) as threads:
        begun = client.stream_video(generated(CLIP), 1, window=1)
        next(begun)
        stop_worker(served.server)
        repeated = threads.submit(lambda: list(client.stream_video(generated(CLIP), 25, count=25)))
        pause(0.5)
        served.kill_stub("video_stream")
        [chunk] = repeated.result()
        with pytest.raises(ConnectionError):
            list(begun)

    np.testing.assert_array_equal(chunk.frames, frames(count=25))


def test_a_session_of_a_killed_model_goes_on_at_the_next_frame(served: Served) -> None:
    with connect(served.url, retries=5) as client, client.open(generated(CLIP), 4, start=1, stride=2) as session:
        chunks = [session.read(), session.read(3)]
        served.kill_stub("video_session")
        chunks += session

    np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in chunks]), frames()[1::2])


def test_a_command_that_is_killed_leaves_no_process_and_the_next_start_deletes_its_files(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with serve("video_decode") as started:
        family = descendants(started.process.pid)
        (folder,) = tmp_path.glob("tricodec-serve-*")
        assert list(Path("/dev/shm").glob(f"{folder.name}_*"))
        started.process.kill()
        wait_until(lambda: not any(map(running, family)), "its processes are gone")

    with contextlib.closing(PrivateFolder()) as following:
        assert list(tmp_path.iterdir()) == [following.path]

    assert not list(Path("/dev/shm").glob(f"{folder.name}_*"))
    assert not list(tmp_path.iterdir())
