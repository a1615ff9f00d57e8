# SPDX-License-Identifier: Apache-2.0
"""The same request through each front end, for the demo and for `tricodec bench pipeline`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tricodec

Request = dict[str, Any]
Decode = Callable[[], npt.NDArray[Any]]


@contextlib.contextmanager
def open_python(path: Path, request: Request) -> Iterator[Decode]:
    """Yields a function that decodes through `tricodec.decode_video`."""
    data = path.read_bytes()
    yield lambda: tricodec.decode_video(data, pinned=True, **request).frames


@contextlib.contextmanager
def open_dali(path: Path, request: Request, *, device: str = "cpu", num_threads: int = 0) -> Iterator[Decode]:
    """Yields a function that runs a DALI pipeline with `fn.tricodec.decode_video`, which reads the file each time.

    The result of a GPU is copied to the host. 0 threads are one for each core.
    """
    import tricodec.dali  # noqa: F401  (registers the operator, or says what is missing)

    gpu = None if device == "cpu" else int(device.partition(":")[2] or 0)
    from nvidia.dali import Pipeline, fn, types

    dtypes = {"uint8": types.UINT8, "float16": types.FLOAT16, "float32": types.FLOAT}
    arguments = request | {"dtype": dtypes[request.get("dtype", "uint8")]}

    # One run at a time: a pipeline that runs ahead would hide its time from a clock.
    threads = num_threads or len(os.sched_getaffinity(0))
    pipeline = Pipeline(batch_size=1, num_threads=threads, device_id=gpu, exec_async=False, exec_pipelined=False)
    with pipeline:
        encoded = fn.external_source(source=lambda: [np.fromfile(path, np.uint8)], batch=True)
        if gpu is not None:
            arguments["device"] = "mixed"
        pipeline.set_outputs(*fn.tricodec.decode_video(encoded, **arguments))
    pipeline.build()

    def decode() -> npt.NDArray[Any]:
        frames, _ = pipeline.run()
        return np.array((frames if gpu is None else frames.as_cpu()).at(0))

    yield decode


@contextlib.contextmanager
def open_triton(path: Path, request: Request) -> Iterator[Decode]:
    """Starts a Triton server and yields a function that asks its model `video_decode`."""
    import tricodec.triton.client
    import tricodec.triton.serve

    data = path.read_bytes()
    with (
        tricodec.triton.serve.Server(models=["video_decode"]) as server,
        tricodec.triton.client.Client(server.grpc_url) as client,
    ):
        yield lambda: client.decode_video(data, **request).frames


FRONT_ENDS: dict[str, Callable[[Path, Request], contextlib.AbstractContextManager[Decode]]] = {
    "python": open_python,
    "dali": open_dali,
    "triton": open_triton,
}
"""Opening one raises ImportError, or FileNotFoundError for Triton's server, if it is not installed."""
