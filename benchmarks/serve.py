# SPDX-License-Identifier: Apache-2.0
"""Requests to `tricodec serve` on this machine, beside decoding in the process of the caller.

As many requests are in flight as there are cores. Frames end in host memory; --device cuda decodes on a GPU.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.decode.clips import clip, description
from benchmarks.results import Case
from benchmarks.suite import Options

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SECONDS = 5.0
"""The first requests take longer: workers map the memory of clients, and lock its pages for a GPU."""
IN_PROCESS, SHARED_MEMORY, GRPC = "tricodec, in process", "tricodec, shared memory", "tricodec, gRPC"
_REQUESTS: dict[str, dict[str, Any]] = {
    "64 tensors of 224x224": {"count": 64, "size": (224, 224)},
    "16 pictures of 1280x720": {"count": 16, "size": (720, 1280)},
    "240 tensors of 224x224": {"count": 240, "size": (224, 224)},
}
_CLIPS = {False: "h264_720p", True: "tiny"}
_SMALL = {"4 tensors of 32x32": {"count": 4, "size": (32, 32)}}


def cases(options: Options) -> list[Case]:
    """Each request in each way."""
    streams = len(os.sched_getaffinity(0))
    return [
        Case(request, _CLIPS[options.quick], way, options.device, streams=streams)
        for request in (_SMALL if options.quick else _REQUESTS)
        for way in (IN_PROCESS, SHARED_MEMORY, GRPC)
    ]


def facts(cases: Sequence[Case]) -> dict[str, str]:
    """Makes the clip."""
    return {f"clip {name}": description(name) for name in dict.fromkeys(case.input for case in cases)}


_starting = threading.Lock()


@functools.cache
def _server(device: str) -> str:
    """The URL of a server, which ends with this process."""
    from tricodec.triton.serve import Server

    # On a GPU a worker has a thread in one process, because processes would take turns on it.
    on_gpu: dict[str, str | float] = {"isolation": "none", "workers": len(os.sched_getaffinity(0))}
    parameters = {"video_decode": on_gpu} if device == "cuda" else {}
    server = Server(models=["video_decode"], gpus=[0] if device == "cuda" else [], parameters=parameters)
    atexit.register(server.__exit__, None, None, None)
    return server.__enter__().grpc_url


@contextlib.contextmanager
def open_work(case: Case) -> Iterator[Work]:
    """A query is one request for frames."""
    from tricodec.measure.bench import Done

    options = {**_REQUESTS, **_SMALL}[case.task]
    path = clip(case.input)
    if case.contender == IN_PROCESS:
        yield lambda: Done(_decode(path, case.setting, options))
        return
    from tricodec.triton.client import Client

    with _starting:
        url = _server(case.setting)
    with Client(url, shared_memory=case.contender == SHARED_MEMORY) as client:
        yield lambda: Done(len(client.decode_video(path, **options).frames))


def _decode(path: Path, device: str, options: dict[str, Any]) -> int:
    import tricodec

    workers: dict[str, Any] = {"num_workers": 1} if device == "cpu" else {}
    frames = tricodec.decode_video(path, device=device, **workers, **options).frames
    return len(frames.numpy() if isinstance(frames, tricodec.DeviceArray) else frames)
