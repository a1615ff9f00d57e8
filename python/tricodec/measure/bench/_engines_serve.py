# SPDX-License-Identifier: Apache-2.0
"""The engine of a Triton server: requests of `tricodec.triton.client`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tricodec
from tricodec.measure.bench._load import Done, Work

MODELS = ("video_decode", "video_stream")
_TIMES = ("queue", "compute_input", "compute_infer", "compute_output")


class ServeEngine:
    """Sends requests with a video to a model of a running server, as `tricodec.triton.client.Client` does."""

    name = "serve"
    scope = "from the bytes of the file in the client to its result, through gRPC"
    profiled = False

    def __init__(
        self, path: Path, url: str, model: str = "video_decode", options: Mapping[str, Any] | None = None
    ) -> None:
        self.url = url
        self.model = model
        self.options = dict(options or {})
        self._data = path.read_bytes()
        with tricodec.FrameReader(path, device="cpu") as reader:
            self._num_frames = len(reader)
            self._frame_bytes = reader[0].size_bytes
        self.settings = {
            "input": f"{path.name}: {len(self._data)} bytes, {self._num_frames} frames",
            "server": url,
            "model": model,
            "request": str(self.options),
        }
        self._statistics = self._read_statistics()

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query is a request for the first `batch` frames, 0 for all; `threads` is not used."""
        from tricodec.triton.client import Client

        if batch > self._num_frames:
            raise ValueError(
                f"a batch of {batch} frames is more than the video has; accepted: up to {self._num_frames}"
            )
        with Client(self.url) as client:
            request = {"count": batch or -1, **self.options}

            def work() -> Done:
                if self.model == "video_stream":
                    frames = sum(map(len, client.stream_video(self._data, **request)))
                else:
                    frames = len(client.decode_video(self._data, **request))
                return Done(frames, frames * self._frame_bytes)

            yield work

    def facts(self) -> dict[str, Any]:
        """The server's mean times of a request in seconds since the last call: its queue and its computation."""
        before, self._statistics = self._statistics, self._read_statistics()
        count = self._statistics["success"][0] - before["success"][0]
        return {
            f"server_{name}_seconds": (self._statistics[name][1] - before[name][1]) / 1e9 / max(1, count)
            for name in _TIMES
        }

    def _read_statistics(self) -> dict[str, tuple[int, int]]:
        """By name: number of requests and their nanoseconds, since the server's start."""
        import tritonclient.grpc as triton_grpc
        from tritonclient.utils import InferenceServerException

        try:
            with triton_grpc.InferenceServerClient(self.url) as client:
                (model,) = client.get_inference_statistics(self.model).model_stats
        except InferenceServerException as error:
            raise ConnectionError(
                f"no model {self.model!r} at {self.url}: {error.message()}; name a gRPC port with --url"
            ) from error
        times = model.inference_stats
        return {name: (getattr(times, name).count, getattr(times, name).ns) for name in ("success", *_TIMES)}
