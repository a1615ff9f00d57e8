# SPDX-License-Identifier: Apache-2.0
"""The model `video_stream`: an encoded video in, its frames out, a few an answer as they are decoded."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.decode_task import StreamTask
from tricodec.triton_backend.models.planned import PlannedModel
from tricodec.triton_backend.models.video_decode import INPUTS, frames_tensors, read_request
from tricodec.triton_backend.runtime.model import Answer
from tricodec.triton_backend.runtime.rows import number, options, text_of
from tricodec.triton_backend.runtime.settings import Settings

_CHUNK = {"CHUNK": ("chunk", number)}
_CONTINUE, _NEXT = "CONTINUE", "NEXT"
"""A client that sends further requests for the rest: CONTINUE is empty at first, then NEXT of the last answer."""

_MOST_NEXT = 1 << 16
_PART_BYTES = 64 << 20
"""Of frames that a request gives such a client, or as many as the video has, because each request brings it again."""


class TritonPythonModel(PlannedModel):
    """What Triton calls."""

    INPUTS = (*INPUTS, *_CHUNK, _CONTINUE)
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
        task = StreamTask(**dataclasses.asdict(task), **chunk)
        if _CONTINUE in rows:
            part_bytes = max(_PART_BYTES, len(data) if isinstance(data, bytes) else 0)
            [text] = np.asarray(rows[_CONTINUE][0]).reshape(-1)
            task = _continued(task, text_of(text), min(part_bytes, settings.max_output_bytes))
        return [(data, task)]

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The frames of one chunk, their times, and how many packets were damaged so far."""
        [chunk] = outcomes
        frames, pts = chunk.arrays
        damage = np.array([chunk.facts["num_damaged_packets"]], np.int64)
        tensors = frames_tensors(requested, frames, pts, damage)
        if _NEXT in requested:
            state = [chunk.facts["num_given"], chunk.facts["damaged"]]
            text = json.dumps(state).encode() if state[0] else b""
            tensors.append(pb_utils.Tensor(_NEXT, np.array([text], np.object_)))
        return Answer(tensors, frames.shape[0], frames.nbytes)


def _continued(task: StreamTask, text: bytes, part_bytes: int) -> StreamTask:
    """The rest of a task after the answer with NEXT `text`; all of it for an empty one.

    Raises:
        ValueError: no answer has that.
    """
    try:
        num_given, damaged = json.loads(text[:_MOST_NEXT]) if text else (0, [])
        if not all(type(each) is int and 0 <= each < 1 << 53 for each in (num_given, *damaged)):
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise ValueError(
            f"{_CONTINUE} is {text[:40]!r}; expected nothing, or {_NEXT} of the last answer to the request before"
        ) from None
    return dataclasses.replace(
        task, num_given=num_given, damaged_before=damaged, begin=num_given, part_bytes=part_bytes
    )
