# SPDX-License-Identifier: Apache-2.0
"""The models `video_decode` and `video_stream`: encoded videos in, frames, their times and their sound out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection
from typing import Any

import numpy as np
import tricodec
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.decode_task import OUTPUT_DTYPES, DecodeTask, StreamTask
from tricodec.triton_backend.models.video_request import PlannedModel, chunk_answer, frames_output, without_batch
from tricodec.triton_backend.runtime.model import Answer
from tricodec.triton_backend.runtime.rows import Tensors, inputs, number, options, text_of

_SOUND = inputs(number, "audio_rate", "audio_channels")
_CHUNK = inputs(number, "chunk")
_CONTINUE, _NEXT = "CONTINUE", "NEXT"
"""A client that sends further requests for the rest: CONTINUE is empty at first, then NEXT of the last answer."""

_MOST_NEXT = 1 << 16
_PART_BYTES = 64 << 20
"""Of frames that a request gives such a client, or as many as the video has, because each request brings it again."""


class DecodeModel(PlannedModel):
    """The model `video_decode`: all frames in one answer."""

    INPUTS = (*PlannedModel.INPUTS, *_SOUND)

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, DecodeTask]]:
        """See Model."""
        return [
            (data, dataclasses.replace(task, **_sound_options(tensors, requested, index)))
            for index, (data, task) in enumerate(self.tasks(tensors, requested))
        ]

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """The frames of all videos as one tensor, their times, and how many of their packets were damaged."""
        videos = [outcome.arrays[0] for outcome in outcomes]
        _expect_one_shape("videos", videos, "give SIZE and COUNT that make them equal")
        frames = _stacked(videos)
        damage = np.array([[outcome.facts["num_damaged_packets"]] for outcome in outcomes], np.int64)
        outputs = {**frames_output(frames), "NUM_DAMAGED_PACKETS": damage}
        outputs["PTS"] = np.stack([outcome.arrays[1] for outcome in outcomes])
        sounds = [sound for outcome in outcomes for sound in outcome.arrays[2:]]
        if len(sounds) == len(outcomes):
            _expect_one_shape("sounds", sounds, "give AUDIO_CHANNELS, and frames of the same time")
            outputs["AUDIO"] = np.stack(sounds)
        return Answer(outputs, frames.nbytes, len(videos) * videos[0].shape[0])


class StreamModel(PlannedModel):
    """The model `video_stream`: a few frames an answer, as they are decoded."""

    INPUTS = (*PlannedModel.INPUTS, *_CHUNK, _CONTINUE)
    PARAMETERS = (*PlannedModel.PARAMETERS, "max_stall_ms")
    IN_PARTS = True

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, StreamTask]]:
        """See Model. The tensors have no batch dimension: a request is one video."""
        rows = without_batch(tensors)
        [(data, video)] = self.tasks(rows, requested)
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
        state = [chunk.facts["num_given"], chunk.facts["damaged"]]
        following = json.dumps(state).encode() if state[0] else b""
        return chunk_answer(chunk, **{_NEXT: np.array([following], np.object_)})


def _sound_options(tensors: Tensors, requested: Collection[str], index: int) -> dict[str, Any]:
    """The arguments of a task for the output AUDIO."""
    sound = options(_SOUND, tensors, index)
    rate, channels = sound.get("audio_rate", 0), sound.get("audio_channels", 0)
    if rate < 0 or channels < 0:
        raise ValueError(f"AUDIO_RATE is {rate} and AUDIO_CHANNELS {channels}; neither can be negative")
    if "AUDIO" not in requested:
        return {}
    if rate == 0 and not set(OUTPUT_DTYPES) <= set(requested):  # those are all outputs, which is the default
        raise ValueError("the output AUDIO needs the input AUDIO_RATE: samples per second, as 16000")
    return sound if rate > 0 else {}


def _expect_one_shape(what: str, arrays: list[Any], remedy: str) -> None:
    shapes = sorted({tuple(array.shape) for array in arrays})
    if len(shapes) > 1:
        raise ValueError(
            f"the {what} of one request came out in different shapes, {', '.join(map(str, shapes))}; {remedy}, or send "
            "each video in a separate request"
        )


def _stacked(videos: list[Any]) -> Any:
    """The frames of a request's videos with the batch axis first; several come together in host memory."""
    if len(videos) > 1:
        return np.stack([_on_host(video) for video in videos])
    return videos[0].reshape((1, *videos[0].shape))


def _on_host(frames: Any) -> Any:
    """The frames in host memory, of bfloat16 the bits."""
    if not isinstance(frames, tricodec.DeviceArray):
        return frames
    copy = frames.numpy()
    return copy.view(np.uint16) if str(frames.dtype) == "bfloat16" else copy


def _continued(task: StreamTask, text: bytes, part_bytes: int) -> StreamTask:
    """The rest of a task after the answer with NEXT `text`; all of it for an empty one."""
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
