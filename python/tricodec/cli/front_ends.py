# SPDX-License-Identifier: Apache-2.0
"""The same request through each front end, for the demo."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tricodec

Request = dict[str, Any]
Decode = Callable[[], npt.NDArray[Any]]


class FrontEndMissingError(tricodec.Error):
    """The packages of a front end are not installed."""


@contextlib.contextmanager
def open_python(path: Path, request: Request) -> Iterator[Decode]:
    """Yields a function that decodes through `tricodec.decode_video`."""
    data = path.read_bytes()
    yield lambda: tricodec.decode_video(data, pinned=True, **request).frames


@contextlib.contextmanager
def open_dali(path: Path, request: Request) -> Iterator[Decode]:
    """Yields a function that runs a DALI pipeline with `fn.tricodec.decode_video`, on all cores."""
    if not _installed("nvidia.dali"):
        message = "DALI is not installed; pip install nvidia-dali-cuda130"
        raise FrontEndMissingError(message)
    from nvidia.dali import Pipeline, fn, types

    import tricodec.dali  # noqa: F401  (registers the operator)

    data = np.frombuffer(path.read_bytes(), np.uint8)
    dtypes = {"uint8": types.UINT8, "float16": types.FLOAT16, "float32": types.FLOAT}
    arguments = request | {"dtype": dtypes[request.get("dtype", "uint8")]}

    # One run at a time: a pipeline that runs ahead would hide its time from a clock.
    threads = len(os.sched_getaffinity(0))
    pipeline = Pipeline(batch_size=1, num_threads=threads, device_id=None, exec_async=False, exec_pipelined=False)
    with pipeline:
        encoded = fn.external_source(source=lambda: [data], batch=True)
        pipeline.set_outputs(*fn.tricodec.decode_video(encoded, **arguments))
    pipeline.build()

    def decode() -> npt.NDArray[Any]:
        frames, _ = pipeline.run()
        return np.array(frames.at(0))

    yield decode


@contextlib.contextmanager
def open_triton(path: Path, request: Request) -> Iterator[Decode]:
    """Starts a Triton server and yields a function that asks its model `video_decode`."""
    if not _installed("tritonclient.grpc"):
        message = "Triton's client is not installed; pip install tritonclient[grpc]"
        raise FrontEndMissingError(message)
    import tricodec.client
    import tricodec.serve

    try:
        tricodec.serve.find_tritonserver()
    except FileNotFoundError as error:
        raise FrontEndMissingError(str(error)) from error
    data = path.read_bytes()
    with tricodec.serve.Server(models=["video_decode"]) as server, tricodec.client.Client(server.grpc_url) as client:
        yield lambda: client.decode_video(data, **request).frames


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is not there
        return False


FRONT_ENDS: dict[str, Callable[[Path, Request], contextlib.AbstractContextManager[Decode]]] = {
    "python": open_python,
    "dali": open_dali,
    "triton": open_triton,
}
