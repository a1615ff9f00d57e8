# SPDX-License-Identifier: Apache-2.0
"""The model `video_stream`: an encoded video in, its frames out, a few an answer as they are decoded."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tricodec.triton_backend.models.decode_task import StreamTask
from tricodec.triton_backend.models.planned import PlannedModel
from tricodec.triton_backend.models.video_decode import INPUTS, frames_tensors, read_request
from tricodec.triton_backend.runtime.block import Outcome
from tricodec.triton_backend.runtime.model import Answer
from tricodec.triton_backend.runtime.rows import number, options
from tricodec.triton_backend.runtime.settings import Settings

_CHUNK = {"CHUNK": ("chunk", number)}


class TritonPythonModel(PlannedModel):
    """What Triton calls."""

    INPUTS = (*INPUTS, *_CHUNK)
    PARAMETERS = (*PlannedModel.PARAMETERS, "max_stall_ms")
    IN_PARTS = True

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> list[tuple[bytes, StreamTask]]:
        """See Model. The tensors have no batch dimension: a request is one video."""
        rows = {name: tensor[np.newaxis] for name, tensor in tensors.items()}
        items = read_request(rows, requested, settings, self.defaults)
        if len(items) != 1:
            raise ValueError(f"the request has {len(items)} files; send one in a request")
        chunk = options(_CHUNK, rows, 0)
        if not 1 <= chunk.get("chunk", 1) <= settings.max_frames:
            raise ValueError(
                f"CHUNK is {chunk['chunk']}; accepted are 1 to {settings.max_frames} (the model's parameter max_frames)"
            )
        [(data, task)] = items
        return [(data, StreamTask(**dataclasses.asdict(task), **chunk))]

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The frames of one chunk, their times, and how many packets were damaged so far."""
        [chunk] = outcomes
        frames, pts = chunk.arrays
        damage = np.array([chunk.facts["num_damaged_packets"]], np.int64)
        return Answer(frames_tensors(requested, frames, pts, damage), frames.shape[0], frames.nbytes)
