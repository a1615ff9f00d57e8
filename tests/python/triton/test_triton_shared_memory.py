# SPDX-License-Identifier: Apache-2.0
"""Shared memory that is full: an answer or an error, never names of memory.

The server runs in a namespace with a small /dev/shm of its own.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from triton_testing import UNSHARE, connect, need_namespaces

pytestmark = pytest.mark.needs_triton

SERVE = """
import json, os, signal, subprocess, sys
from tricodec.triton.serve import Server

subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", "/dev/shm"], check=True)
with Server(models=sys.argv[1:]) as server:
    print(json.dumps(server.grpc_url), flush=True)
    for line in sys.stdin:  # "fill" or "free"
        file = os.open("/dev/shm/filling", os.O_CREAT | os.O_RDWR)
        free = os.fstatvfs(file)
        size = free.f_bavail * free.f_frsize if line == "fill\\n" else 0
        os.posix_fallocate(file, 0, size) if size else os.ftruncate(file, 0)
        os.close(file)
        print(size, flush=True)
    os.kill(server.pid, signal.SIGKILL)  # which ends it at once
"""
MODELS = ["video_decode", "video_stream", "video_session"]
SMALL, MEDIUM, GROWN, LARGE, TOO_LARGE = (64, 64), (300, 300), (600, 600), (900, 900), (1080, 1920)
"""Sizes of frames. 30 of GROWN take the pool from 1 to 33 MiB. Then LARGE fits the pool and what is free, not one."""


@dataclasses.dataclass(frozen=True)
class SmallServer:
    """The server, and what fills and frees its /dev/shm."""

    url: str
    process: subprocess.Popen[str]

    def change(self, what: str) -> int:
        """Fill or free it; the bytes that were filled."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def server() -> Iterator[SmallServer]:
    need_namespaces()
    command = [*UNSHARE, sys.executable, "-c", SERVE, *MODELS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield SmallServer(json.loads(process.stdout.readline()), process)
        process.stdin.close()


@pytest.fixture
def url(server: SmallServer) -> str:
    return server.url


def clip() -> Path:
    return generated("h264_bframes.mp4")


def whole(url: str, size: tuple[int, int]) -> Any:
    with connect(url, timeout_seconds=60) as client:
        return client.decode_video(clip(), size=size, count=30).frames


def in_parts(url: str, size: tuple[int, int]) -> Any:
    with connect(url, timeout_seconds=60) as client:
        parts = client.stream_video(clip(), chunk=30, size=size, count=30)
        return np.concatenate([part.frames for part in parts])


@pytest.mark.parametrize("way", [whole, in_parts])
def test_an_answer_that_does_not_fit_is_an_error_that_names_no_memory(
    way: Callable[[str, tuple[int, int]], Any], url: str
) -> None:
    with pytest.raises(tricodec.OutOfMemoryError, match=r"the answer has 186624000 bytes.*--shm-size") as raised:
        way(url, TOO_LARGE)

    assert "tricodec_" not in str(raised.value)
    assert np.array_equal(way(url, SMALL), tricodec.decode_video(clip(), size=SMALL, count=30).frames)


def test_the_last_part_of_a_stream_that_does_not_fit_is_an_error(server: SmallServer) -> None:
    padded = clip().read_bytes() + bytes(8 << 20)
    with connect(server.url, timeout_seconds=60) as client:
        parts = client.stream_video(clip(), chunk=15, size=GROWN, count=30, window=1)
        assert next(parts).frames.shape == (15, *GROWN, 3)  # the memory that it had is free now
        other = client.stream_video(padded, chunk=1, size=SMALL, count=3, window=1)
        assert next(other).frames.shape == (1, *SMALL, 3)  # a part of that memory has the video while this is open
        assert server.change("fill") > 0
        try:
            with pytest.raises(tricodec.OutOfMemoryError, match=r"no shared memory .*--shm-size"):
                next(parts)
        finally:
            server.change("free")
        assert len(list(other)) == 2
        assert in_parts(server.url, GROWN).shape == (30, *GROWN, 3)
