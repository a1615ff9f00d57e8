# SPDX-License-Identifier: Apache-2.0
"""The model `video_decode`: encoded videos in, frames and their times out."""

from __future__ import annotations

import contextlib
import functools
import json
import threading
import time
from typing import Any

import numpy as np
import tricodec
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.errors import Failure, failure_of
from tricodec.triton_backend.guard import check_stub
from tricodec.triton_backend.metrics import Metrics
from tricodec.triton_backend.pool import Pool
from tricodec.triton_backend.request import INPUTS, OUTPUT_DTYPES, VideoRequest, read_request
from tricodec.triton_backend.settings import parse_settings
from tricodec.triton_backend.slots import Decoded, InlineSlot, ProcessSlot, Slot


class TritonPythonModel:
    """What Triton calls. Requests are answered through response senders, each when its own frames are ready."""

    def initialize(self, args: dict[str, str]) -> None:
        """Starts the workers.

        Args:
            args: Triton's, with the configuration as JSON.

        Raises:
            RuntimeError: if the stub corrupts tensors under this NumPy, or a worker does not start.
            ValueError: for parameters that are not accepted.
        """
        check_stub(pb_utils)
        self._settings = parse_settings(json.loads(args["model_config"])).for_instance(
            args["model_instance_kind"], int(args["model_instance_device_id"])
        )
        self._metrics = Metrics(pb_utils, args["model_name"], args["model_version"])
        try:
            slots = [self._make_slot() for _ in range(self._settings.num_workers)]
            threads = None if self._settings.on_gpu and not self._settings.threads else self._settings.threads
            self._pool = Pool(slots, threads)
        except RuntimeError:
            self._metrics.close()
            raise
        pb_utils.Logger.log_info(
            f"{args['model_name']}: {self._settings.num_workers} workers, isolation {self._settings.isolation}, device "
            f"{self._settings.device}"
        )

    def execute(self, requests: list[Any]) -> None:
        """Takes a batch of requests and returns as soon as there is room for the next.

        A short request that comes after a long one does not wait for it, and while all workers are busy the rest waits
        in Triton's queue, where its limits and priorities hold.
        """
        for request in requests:
            _Exchange(request, self._metrics).begin(self._pool, self._settings)
        self._pool.wait_for_room()

    def finalize(self) -> None:
        """Ends the workers."""
        self._pool.close()
        self._metrics.close()

    def _make_slot(self) -> Slot:
        if self._settings.isolation == "none":
            return InlineSlot(self._settings)
        return ProcessSlot(self._settings, self._metrics.restarted)


class _Exchange:
    """One request from its arrival to its answer."""

    def __init__(self, request: Any, metrics: Metrics) -> None:
        self._request = request
        self._sender = request.get_response_sender()
        self._metrics = metrics
        self._began = time.monotonic()
        self._bytes_in = 0
        self._lock = threading.Lock()
        self._wanted: VideoRequest | None = None
        self._outcomes: list[Decoded | Failure | None] = []

    def begin(self, pool: Pool, settings: Any) -> None:
        """Queues the request's videos, or answers at once that it is not acceptable."""
        try:
            tensors = {}
            for name in INPUTS:
                tensor = pb_utils.get_input_tensor_by_name(self._request, name)
                if tensor is not None:
                    tensors[name] = tensor.as_numpy()
            self._wanted = read_request(tensors, self._request.requested_output_names(), settings)
        except Exception as error:  # the request's own, whatever it is: an exception here would fail the whole batch
            self._answer_failure(failure_of(error))
            return
        self._bytes_in = sum(len(video) for video, _ in self._wanted.videos)
        self._outcomes = [None] * len(self._wanted.videos)
        for index, (video, task) in enumerate(self._wanted.videos):
            pool.submit(task, video, self._request.is_cancelled, functools.partial(self._finish, index))

    def _finish(self, index: int, outcome: Decoded | Failure) -> None:
        with self._lock:
            self._outcomes[index] = outcome
            if any(other is None for other in self._outcomes):
                return
        try:
            self._answer()
        except Exception as error:  # such as no shared memory left for the frames
            with contextlib.suppress(Exception):
                self._answer_failure(failure_of(error))

    def _answer(self) -> None:
        decoded = []
        for index, outcome in enumerate(self._outcomes):
            if isinstance(outcome, Failure):
                self._answer_failure(self._locate(index, outcome))
                return
            assert outcome is not None
            decoded.append(outcome)
        shapes = sorted({video.frames.shape for video in decoded})
        if len(shapes) > 1:
            self._answer_failure(
                Failure(
                    "ValueError",
                    f"the videos of one request came out in different shapes, {', '.join(map(str, shapes))}; give SIZE "
                    "and COUNT that make them equal, or send each video in a request of its own",
                )
            )
            return
        assert self._wanted is not None
        frames = _stacked([video.frames for video in decoded])
        tensors = [_frames_tensor(self._wanted.frames_output, frames)]
        if self._wanted.wants_pts:
            tensors.append(pb_utils.Tensor("PTS", np.stack([video.pts_seconds for video in decoded])))
        self._send(pb_utils.InferenceResponse(output_tensors=tensors))
        self._count("ok", frames.shape[0] * frames.shape[1], frames.nbytes)

    def _locate(self, index: int, failure: Failure) -> Failure:
        if len(self._outcomes) == 1:
            return failure
        return Failure(failure.kind, f"video {index} of the request: {failure.message}")

    def _answer_failure(self, failure: Failure) -> None:
        error = pb_utils.TritonError(failure.text, getattr(pb_utils.TritonError, failure.code))
        self._send(pb_utils.InferenceResponse(error=error))
        self._count(failure.code.lower(), 0, 0)

    def _send(self, response: Any) -> None:
        self._sender.send(response, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def _count(self, outcome: str, num_frames: int, bytes_out: int) -> None:
        seconds = time.monotonic() - self._began
        self._metrics.answered(outcome, seconds, num_frames, self._bytes_in, bytes_out)


def _stacked(videos: list[Any]) -> Any:
    """The frames of a request's videos with the batch axis first; several come together in host memory."""
    if len(videos) > 1:
        return np.stack([_on_host(video) for video in videos])
    frames = videos[0]
    if isinstance(frames, tricodec.DeviceArray):
        return frames.reshape((1, *frames.shape))
    return frames[np.newaxis]


def _on_host(frames: Any) -> Any:
    """The frames in host memory, of bfloat16 the bits."""
    if not isinstance(frames, tricodec.DeviceArray):
        return frames
    copy = frames.numpy()
    return copy.view(np.uint16) if str(frames.dtype) == "bfloat16" else copy


def _frames_tensor(name: str, frames: Any) -> Any:
    if isinstance(frames, tricodec.DeviceArray):
        return pb_utils.Tensor.from_dlpack(name, frames)
    if OUTPUT_DTYPES[name] == "bfloat16":
        return pb_utils.Tensor.from_dlpack(name, tricodec.Bfloat16Array(frames))
    return pb_utils.Tensor(name, frames)
