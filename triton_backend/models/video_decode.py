# SPDX-License-Identifier: Apache-2.0
"""The model `video_decode`: encoded videos in, frames, their times and their sound out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
import triton_python_backend_utils as pb_utils
from tricodec.node.tasks import Outcome
from tricodec.options import SELECTION_OPTIONS, TRANSFORM_OPTIONS, Option, replaced
from tricodec.triton_backend.models.decode_task import OUTPUT_DTYPES, DecodeTask
from tricodec.triton_backend.models.planned import Defaults, PlannedModel
from tricodec.triton_backend.models.video_input import VIDEO_INPUTS, read_videos
from tricodec.triton_backend.runtime.model import Answer
from tricodec.triton_backend.runtime.rows import Table, any_numbers, number, numbers, options, word
from tricodec.triton_backend.runtime.settings import Settings


def _reader(option: Option) -> Callable[[npt.NDArray[Any]], Any]:
    """The function that makes the value of an option from a row."""
    if option.type == "wholes" and option.accepted:
        return numbers(len(option.accepted), ", ".join(option.accepted))
    return {"text": word, "wholes": any_numbers, "numbers": any_numbers}.get(option.type, number)


SELECTION: Table = {name.upper(): (name, _reader(option)) for name, option in SELECTION_OPTIONS.items()}
STREAM: Table = {"STREAM": ("stream_index", number)}
TRANSFORM: Table = {
    name.upper(): (name, _reader(option)) for name, option in TRANSFORM_OPTIONS.items() if name != "dtype"
}
"""The inputs of a request beside VIDEO and URL: which frames, and how they come out."""

_FLOAT_ONLY = ("SCALE", "MEAN", "STD")
_SOUND: Table = {
    "AUDIO_RATE": ("audio_rate", number),
    "AUDIO_CHANNELS": ("audio_channels", number),
}

INPUTS = (*VIDEO_INPUTS, *SELECTION, *STREAM, *TRANSFORM)
"""The inputs about frames; VIDEO or URL is needed."""


class TritonPythonModel(PlannedModel):
    """What Triton calls."""

    INPUTS = (*INPUTS, *_SOUND)

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> list[tuple[bytes, DecodeTask]]:
        """See Model."""
        return read_request(tensors, requested, settings, self.defaults)

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The frames of all videos as one tensor, their times, and how many of their packets were damaged."""
        shapes = sorted({tuple(outcome.arrays[0].shape) for outcome in outcomes})
        if len(shapes) > 1:
            raise ValueError(
                f"the videos of one request came out in different shapes, {', '.join(map(str, shapes))}; give SIZE "
                "and COUNT that make them equal, or send each video in a separate request"
            )
        arrays = [outcome.arrays[1:] for outcome in outcomes]
        others = {
            "PTS": np.stack([pts for pts, *_ in arrays]),
            "NUM_DAMAGED_PACKETS": np.array([[outcome.facts["num_damaged_packets"]] for outcome in outcomes], np.int64),
        }
        if all(sound for _, *sound in arrays):
            others["AUDIO"] = _stacked_sounds([sound[0] for _, *sound in arrays])
        tensors = [pb_utils.Tensor(name, array) for name, array in others.items() if name in requested]
        num_frames = len(outcomes) * shapes[0][0]
        frames = _stacked([outcome.arrays[0] for outcome in outcomes])
        return Answer([*frames_outputs(requested, frames), *tensors], num_frames, frames.nbytes)


def read_request(
    tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings, defaults: Defaults
) -> list[tuple[bytes, DecodeTask]]:
    """The videos of a request with their tasks. See Model.read; `defaults` are the model's."""
    dtype = OUTPUT_DTYPES[frames_output(requested)]
    check_float_only(tensors, dtype)
    items = []
    for index, data in enumerate(read_videos(tensors, settings)):
        transform = defaults.transform_to(dtype) | options(TRANSFORM, tensors, index)
        selection = replaced(defaults.selection, options(SELECTION, tensors, index))
        source = {**defaults.source, **options(STREAM, tensors, index)}
        sound = _sound_options(tensors, requested, index)
        items.append((data, DecodeTask(selection=selection, **source, transform=transform, **sound)))
    return items


def check_float_only(names: Collection[str], dtype: str) -> None:
    """Raises ValueError if a request has an input that is for float frames, and asks for uint8."""
    for name in _FLOAT_ONLY:
        if name in names and dtype == "uint8":
            raise ValueError(
                f"{name} needs float frames: request the output FRAMES_FP16, FRAMES_BF16 or FRAMES_FP32, not FRAMES"
            )


def _sound_options(tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], index: int) -> dict[str, Any]:
    """The arguments of a task for the output AUDIO."""
    sound = options(_SOUND, tensors, index)
    rate = sound.get("audio_rate", 0)
    channels = sound.get("audio_channels", 0)
    if rate < 0 or channels < 0:
        raise ValueError(f"AUDIO_RATE is {rate} and AUDIO_CHANNELS {channels}; neither can be negative")
    if "AUDIO" not in requested:
        return {}
    if rate == 0 and not set(OUTPUT_DTYPES) <= set(requested):  # those are all outputs, which is the default
        raise ValueError("the output AUDIO needs the input AUDIO_RATE: samples per second, as 16000")
    return sound if rate > 0 else {}


def frames_output(requested: Collection[str]) -> str:
    """The frame output that a request names, which decides the dtype; FRAMES if it names none or all.

    Raises:
        ValueError: if it names several.
    """
    named = [name for name in OUTPUT_DTYPES if name in requested]
    if 1 < len(named) < len(OUTPUT_DTYPES):
        raise ValueError(f"request one of the outputs {', '.join(OUTPUT_DTYPES)}, not {' and '.join(named)}")
    return named[0] if len(named) == 1 else "FRAMES"


def _stacked(videos: list[Any]) -> Any:
    """The frames of a request's videos with the batch axis first; several come together in host memory."""
    if len(videos) > 1:
        return np.stack([_on_host(video) for video in videos])
    frames = videos[0]
    if isinstance(frames, tricodec.DeviceArray):
        return frames.reshape((1, *frames.shape))
    return frames[np.newaxis]


def _stacked_sounds(sounds: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
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


def frames_tensors(
    requested: Collection[str], frames: Any, pts: npt.NDArray[np.float64], damage: npt.NDArray[np.int64]
) -> list[Any]:
    """The outputs that a request asks for. Triton would leave out the others itself, but without Python's lock."""
    others = {"PTS": pts, "NUM_DAMAGED_PACKETS": damage}
    named = [pb_utils.Tensor(name, array) for name, array in others.items() if name in requested]
    return [*frames_outputs(requested, frames), *named]


def frames_outputs(requested: Collection[str], frames: Any) -> list[Any]:
    """The output with frames, if there is one. They stay where they are: on a GPU they are passed on by DLPack."""
    name = frames_output(requested)
    if name not in requested:
        return []
    if isinstance(frames, tricodec.DeviceArray):
        return [pb_utils.Tensor.from_dlpack(name, frames)]
    if OUTPUT_DTYPES[name] == "bfloat16":
        return [pb_utils.Tensor.from_dlpack(name, tricodec.arrays.Bfloat16Array(frames))]
    return [pb_utils.Tensor(name, frames)]
