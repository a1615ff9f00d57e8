# SPDX-License-Identifier: Apache-2.0
"""The model `video_decode`: encoded videos in, frames, their times and their sound out."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np
import tricodec
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.decode_task import OUTPUT_DTYPES, DecodeTask
from tricodec.triton_backend.models.video_request import PlannedModel, frames_output
from tricodec.triton_backend.runtime.model import Answer
from tricodec.triton_backend.runtime.rows import Tensors, inputs, number, options

_SOUND = inputs(number, "audio_rate", "audio_channels")


class DecodeModel(PlannedModel):
    """What Triton calls."""

    INPUTS = (*PlannedModel.INPUTS, *_SOUND)

    def read(self, tensors: Tensors, requested: Collection[str]) -> list[tuple[Any, DecodeTask]]:
        """See Model."""
        return [
            (data, dataclasses.replace(task, **_sound_options(tensors, requested, index)))
            for index, (data, task) in enumerate(self.tasks(tensors, requested))
        ]

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """The frames of all videos as one tensor, their times, and how many of their packets were damaged."""
        shapes = sorted({tuple(outcome.arrays[0].shape) for outcome in outcomes})
        if len(shapes) > 1:
            raise ValueError(
                f"the videos of one request came out in different shapes, {', '.join(map(str, shapes))}; give SIZE "
                "and COUNT that make them equal, or send each video in a separate request"
            )
        frames = _stacked([outcome.arrays[0] for outcome in outcomes])
        damage = np.array([[outcome.facts["num_damaged_packets"]] for outcome in outcomes], np.int64)
        outputs = {**frames_output(frames), "NUM_DAMAGED_PACKETS": damage}
        outputs["PTS"] = np.stack([outcome.arrays[1] for outcome in outcomes])
        sounds = [sound for outcome in outcomes for sound in outcome.arrays[2:]]
        if len(sounds) == len(outcomes):
            outputs["AUDIO"] = _stacked_sounds(sounds)
        return Answer(outputs, frames.nbytes, len(outcomes) * shapes[0][0])


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


def _stacked(videos: list[Any]) -> Any:
    """The frames of a request's videos with the batch axis first; several come together in host memory."""
    if len(videos) > 1:
        return np.stack([_on_host(video) for video in videos])
    [frames] = videos
    return frames.reshape((1, *frames.shape))


def _stacked_sounds(sounds: list[Any]) -> Any:
    shapes = sorted({sound.shape for sound in sounds})
    if len(shapes) > 1:
        raise ValueError(
            f"the sounds of one request came out in different shapes, {', '.join(map(str, shapes))}; give "
            "AUDIO_CHANNELS, and frames of the same time, or send each video in a separate request"
        )
    return np.stack(sounds)


def _on_host(frames: Any) -> Any:
    """The frames in host memory, of bfloat16 the bits."""
    if not isinstance(frames, tricodec.DeviceArray):
        return frames
    copy = frames.numpy()
    return copy.view(np.uint16) if str(frames.dtype) == "bfloat16" else copy
