# SPDX-License-Identifier: Apache-2.0
"""The engine of a Triton server: requests of `tricodec.triton.client`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tricodec
from tricodec.measure.bench._load import Done, Work
from tricodec.measure.bench._session import Engine

MODELS = ("video_decode", "video_stream")
_TIMES = ("queue", "compute_input", "compute_infer", "compute_output")


def serve_engine(path: Path, url: str, model: str = "video_decode", options: Mapping[str, Any] | None = None) -> Engine:
    """Sends requests with a video to a model of a running server, as `tricodec.triton.client.Client` does.

    A query is a request for the first `batch` frames, 0 for all; `threads` is not used. The facts are the server's mean
    times of a request in seconds since the last call: its queue and its computation.
    """
    data = path.read_bytes()
    with tricodec.FrameReader(path, device="cpu") as reader:
        num_frames, frame_bytes = len(reader), reader[0].size_bytes
    settings = {
        "input": f"{path.name}: {len(data)} bytes, {num_frames} frames",
        "server": url,
        "model": model,
        "request": str(options),
    }

    @contextlib.contextmanager
    def open_work(batch: int, threads: int) -> Iterator[Work]:
        from tricodec.triton.client import Client

        if batch > num_frames:
            raise ValueError(f"a batch of {batch} frames is more than the video has; accepted: up to {num_frames}")
        with Client(url) as client:
            request = {"count": batch or -1, **(options or {})}

            def work() -> Done:
                if model == "video_stream":
                    frames = sum(map(len, client.stream_video(data, **request)))
                else:
                    frames = len(client.decode_video(data, **request))
                return Done(frames, frames * frame_bytes)

            yield work

    latest = _read_statistics(url, model)

    def facts() -> dict[str, Any]:
        nonlocal latest
        before, latest = latest, _read_statistics(url, model)
        count = max(1, latest["success"][0] - before["success"][0])
        return {f"server_{name}_seconds": (latest[name][1] - before[name][1]) / 1e9 / count for name in _TIMES}

    scope = "from the bytes of the file in the client to its result, through gRPC"
    return Engine("serve", scope, settings, open_work, profiled=False, facts=facts)


def _read_statistics(url: str, model: str) -> dict[str, tuple[int, int]]:
    """By name: number of requests and their nanoseconds, since the server's start."""
    import tritonclient.grpc as triton_grpc
    from tritonclient.utils import InferenceServerException

    try:
        with triton_grpc.InferenceServerClient(url) as client:
            (found,) = client.get_inference_statistics(model).model_stats
    except InferenceServerException as error:
        raise ConnectionError(f"no model {model!r} at {url}: {error.message()}; name a gRPC port with --url") from error
    times = found.inference_stats
    return {name: (getattr(times, name).count, getattr(times, name).ns) for name in ("success", *_TIMES)}
