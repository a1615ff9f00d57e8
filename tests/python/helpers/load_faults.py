# SPDX-License-Identifier: Apache-2.0
"""Faults of a loaded Triton server: processes that die or hang, clients that go, memory that is full."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tricodec
from h264_writer import H264Stream, Picture
from load_requests import CLIP
from media import generated
from tricodec.serve.control import ControlError, ModelControl
from triton_testing import LONG_REQUEST, long_video, running, stubs, wait_until, workers

_GONE_CLIENT = """
import sys
from tricodec.client import Client
print("begins", flush=True)
Client(sys.argv[1], shared_memory=False).decode_video(sys.stdin.buffer.read(), size=(224, 224), stride=16)
"""


@dataclasses.dataclass(frozen=True)
class Site:
    """What faults act on.

    Attributes:
        server: a tricodec.serve.Server, which is another process after a crash of Triton.
        make_client: a client of the server.
    """

    server: Any
    make_client: Callable[..., Any]

    def processes(self, find: Callable[[int], list[int]]) -> list[int]:
        """Processes of the model `video_decode`, which `find` finds; at least one."""
        found: list[int] = []

        def have_come() -> bool:
            pid = self.server.pid
            found[:] = find(pid) if pid is not None else []
            return bool(found)

        wait_until(have_come, "the model has processes")
        return found


def kill_worker(site: Site) -> None:
    """Kills a process that decodes."""
    os.kill(random.choice(site.processes(workers)), signal.SIGKILL)


def hang_worker(site: Site) -> None:
    """Halts a process that decodes; the model replaces it after its time limit."""
    pid = random.choice(site.processes(workers))
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: not running(pid), "the worker that hangs is replaced")


def kill_stub(site: Site) -> None:
    """Kills the process of a model; it comes back."""
    (pid,) = site.processes(stubs)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not running(pid), "the stub is gone")
    _wait_until_loaded(site)


def reload_model(site: Site) -> None:
    """Unloads a model that works and loads it again."""
    with contextlib.suppress(RuntimeError):  # Triton may hang if a process of the model was killed before
        site.server.reload("video_decode")
    _wait_until_loaded(site)


def slow_file(site: Site) -> None:
    """Sends a file that takes longer than the time limit."""
    # Through messages: the client need not know the size of the answer.
    with site.make_client(shared_memory=False) as client, contextlib.suppress(TimeoutError):
        client.decode_video(long_video(), **LONG_REQUEST)
        raise AssertionError("a file that takes minutes was answered")


@functools.cache
def many_pictures() -> bytes:
    """A small stream with references that take 220 MB."""
    stream = H264Stream(3072, 3072, num_ref_frames=16)
    block = [np.zeros((16, 16), np.uint8), np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8)]
    stream.write(block, Picture(idr=True, slices=[range(1)]))
    for number in range(1, 20):
        stream.skip(Picture(frame_num=number, poc=2 * number))
    return bytes(stream.data)


def past_the_memory(site: Site) -> None:
    """Sends a file that needs more memory than a worker may have, or on a busy machine more time."""
    with site.make_client() as client, contextlib.suppress(tricodec.OutOfMemoryError, TimeoutError):
        client.decode_video(many_pictures(), size=(64, 64))
        raise AssertionError("a file past the memory of a worker was answered")


def gone_client(site: Site) -> None:
    """Kills a client while its request is at work."""
    with subprocess.Popen(
        [sys.executable, "-c", _GONE_CLIENT, site.server.grpc_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.write(long_video())
        process.stdin.close()
        time.sleep(0.5)
        process.kill()


def slow_client(site: Site) -> None:
    """Reads a stream slowly, and whole."""
    clip = generated(CLIP)
    with site.make_client() as client:
        frames = []
        for part in client.stream_video(clip, 10, window=1, size=(24, 32)):
            frames.append(part.frames.tobytes())
            time.sleep(0.3)
    assert b"".join(frames) == tricodec.decode_video(clip, size=(24, 32)).frames.tobytes()


def cancelling_client(site: Site) -> None:
    """Ends a stream after its first part."""
    with site.make_client() as client:
        parts = client.stream_video(generated(CLIP), 1, window=1, size=(24, 32))
        next(parts)
        parts.close()


def full_shared_memory(_: Site) -> None:
    """Fills /dev/shm for a while."""
    _fill(Path("/dev/shm"))


def full_disk(_: Site) -> None:
    """Fills the disk of temporary files for a while, where the server keeps its folder."""
    _fill(Path(tempfile.gettempdir()))


def _fill(folder: Path) -> None:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    time.sleep(0.5)
    filler.unlink()


def _wait_until_loaded(site: Site) -> None:
    control = ModelControl(site.server.http_url)

    def is_back() -> bool:
        with contextlib.suppress(ControlError):  # Triton crashed, and is being started again
            return control.is_ready("video_decode") and len(site.processes(stubs)) == 1
        return False

    wait_until(is_back, "the model is back")


FAULTS: dict[str, tuple[Callable[[Site], None], int]] = {
    "worker killed": (kill_worker, 1),
    "worker hung": (hang_worker, 1),
    "model killed": (kill_stub, 0),
    "model reloaded": (reload_model, 0),
    "file too slow": (slow_file, 0),
    "worker out of memory": (past_the_memory, 0),
    "client killed": (gone_client, 0),
    "client slow": (slow_client, 0),
    "client cancels": (cancelling_client, 0),
    "/dev/shm full": (full_shared_memory, 0),
    "disk full": (full_disk, 0),
}
"""By name: the fault, and how many requests of others may be lost by it."""
