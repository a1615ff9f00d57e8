# SPDX-License-Identifier: Apache-2.0
"""The model `video_stream`: an encoded video in, its frames out, a few an answer as they are decoded."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection
from typing import Any

import numpy as np
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.decode_task import StreamTask
from tricodec.triton_backend.models.video_request import PlannedModel, frames_output, only_one, without_batch
from tricodec.triton_backend.runtime.model import Answer
from tricodec.triton_backend.runtime.rows import Tensors, inputs, number, options, text_of

_CHUNK = inputs(number, "chunk")
_CONTINUE, _NEXT = "CONTINUE", "NEXT"
"""A client that sends further requests for the rest: CONTINUE is empty at first, then NEXT of the last answer."""

_MOST_NEXT = 1 << 16
_PART_BYTES = 64 << 20
"""Of frames that a request gives such a client, or as many as the video has, because each request brings it again."""


class StreamModel(PlannedModel):
    """What Triton calls."""

    INPUTS = (*PlannedModel.INPUTS, *_CHUNK, _CONTINUE)
    PARAMETERS = (*PlannedModel.PARAMETERS, "max_stall_ms")
    IN_PARTS = True

    def read(self, tensors: Tensors, requested: Collection[str]) -> list[tuple[Any, StreamTask]]:
        """See Model. The tensors have no batch dimension: a request is one video."""
        rows = without_batch(tensors)
        data, video = only_one(self.tasks(rows, requested))
        chunk, most = options(_CHUNK, rows), self.settings.max_frames
        if not 1 <= chunk.get("chunk", 1) <= most:
            raise ValueError(f"CHUNK is {chunk['chunk']}; accepted are 1 to {most} (the model's parameter max_frames)")
        task = StreamTask(**dataclasses.asdict(video), **chunk)
        if _CONTINUE in rows:
            part_bytes = max(_PART_BYTES, len(data) if isinstance(data, bytes) else 0)
            [text] = np.asarray(tensors[_CONTINUE]).reshape(-1)
            task = _continued(task, text_of(text), min(part_bytes, self.settings.max_output_bytes))
        return [(data, task)]

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """The frames of one chunk, their times, and how many packets were damaged so far."""
        [chunk] = outcomes
        frames, pts = chunk.arrays
        state = [chunk.facts["num_given"], chunk.facts["damaged"]]
        outputs = {
            **frames_output(frames),
            "PTS": pts,
            "NUM_DAMAGED_PACKETS": np.array([chunk.facts["num_damaged_packets"]], np.int64),
            _NEXT: np.array([json.dumps(state).encode() if state[0] else b""], np.object_),
        }
        return Answer(outputs, frames.nbytes, frames.shape[0])


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
