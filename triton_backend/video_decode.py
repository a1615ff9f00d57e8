# SPDX-License-Identifier: Apache-2.0
"""The model `video_decode`: encoded videos in, frames and their times out."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.decode_task import OUTPUT_DTYPES
from tricodec.triton_backend.model import Answer, Model
from tricodec.triton_backend.request import INPUTS, VideoRequest, read_request
from tricodec.triton_backend.settings import Settings


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = INPUTS
    OPEN_WORKERS = sys.maxsize

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> VideoRequest:
        """See Model."""
        return read_request(tensors, requested, settings)

    def answer(self, request: VideoRequest, outcomes: list[Any]) -> Answer:
        """The frames of all videos as one tensor, their times, and how many of their packets were damaged."""
        shapes = sorted({video.frames.shape for video in outcomes})
        if len(shapes) > 1:
            raise ValueError(
                f"the videos of one request came out in different shapes, {', '.join(map(str, shapes))}; give SIZE "
                "and COUNT that make them equal, or send each video in a request of its own"
            )
        frames = _stacked([video.frames for video in outcomes])
        tensors = [frames_tensor(request.frames_output, frames)]
        if request.wants_pts:
            tensors.append(pb_utils.Tensor("PTS", np.stack([video.pts_seconds for video in outcomes])))
        if request.wants_damage:
            counts = np.array([[video.num_damaged_packets] for video in outcomes], np.int64)
            tensors.append(pb_utils.Tensor("NUM_DAMAGED_PACKETS", counts))
        return Answer(tensors, frames.shape[0] * frames.shape[1], frames.nbytes)


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


def frames_tensor(name: str, frames: Any) -> Any:
    """The output of frames, which stay where they are: on a GPU they are passed on by DLPack."""
    if isinstance(frames, tricodec.DeviceArray):
        return pb_utils.Tensor.from_dlpack(name, frames)
    if OUTPUT_DTYPES[name] == "bfloat16":
        return pb_utils.Tensor.from_dlpack(name, tricodec.Bfloat16Array(frames))
    return pb_utils.Tensor(name, frames)
