# SPDX-License-Identifier: Apache-2.0
"""The model `video_stream`: an encoded video in, its frames out, a few an answer as they are decoded."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.model import Answer, Model
from tricodec.triton_backend.request import INPUTS, VideoRequest, read_request
from tricodec.triton_backend.rows import number, options
from tricodec.triton_backend.settings import Settings
from tricodec.triton_backend.stream_task import StreamTask
from tricodec.triton_backend.video_decode import frames_tensor

_CHUNK = {"CHUNK": ("chunk", number)}


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = (*INPUTS, *_CHUNK)
    IN_PARTS = True

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> VideoRequest:
        """See Model. The tensors have no batch dimension: a request is one video."""
        rows = {name: tensor[np.newaxis] for name, tensor in tensors.items()}
        request = read_request(rows, requested, settings)
        if len(request.items) != 1:
            raise ValueError(f"VIDEO has {len(request.items)} files; send one in a request")
        chunk = options(_CHUNK, rows, 0)
        if not 1 <= chunk.get("chunk", 1) <= settings.max_frames:
            raise ValueError(
                f"CHUNK is {chunk['chunk']}; accepted are 1 to {settings.max_frames} (the model's parameter max_frames)"
            )
        [(data, task)] = request.items
        return dataclasses.replace(request, items=[(data, StreamTask(**dataclasses.asdict(task), **chunk))])

    def answer(self, request: VideoRequest, outcomes: list[Any]) -> Answer:
        """The frames of one chunk, their times, and how many packets were damaged by now."""
        [chunk] = outcomes
        tensors = [frames_tensor(request.frames_output, chunk.frames)]
        if request.wants_pts:
            tensors.append(pb_utils.Tensor("PTS", chunk.pts_seconds))
        if request.wants_damage:
            tensors.append(pb_utils.Tensor("NUM_DAMAGED_PACKETS", np.array([chunk.num_damaged_packets], np.int64)))
        return Answer(tensors, chunk.frames.shape[0], chunk.frames.nbytes)
