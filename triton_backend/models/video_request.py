# SPDX-License-Identifier: Apache-2.0
"""Requests for encoded videos: the media file or where it is, which frames, and how they come out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.node.tasks import Outcome
from tricodec.options import SELECTION_OPTIONS, TRANSFORM_OPTIONS, Option, replaced
from tricodec.remote import RemoteSource
from tricodec.triton_backend.models.decode_task import OUTPUT_DTYPES, DecodeTask
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import Table, Tensors, any_numbers, number, numbers, options, text_of, word
from tricodec.triton_backend.runtime.settings import SOURCE_PARAMETERS, Settings

PLAN_NAME = "plan.json"
VIDEO_INPUTS = ("VIDEO", "URL")
CACHE_BYTES = 64 << 20
"""What a process of the node keeps in memory of one file that a URL names."""
_MAX_URL = 8192
_FLOAT_ONLY = ("scale", "mean", "std")


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


class PlannedModel(Model):
    """A model of which a plan.json beside its configuration, a tricodec.Plan, gives the defaults: `planned`."""

    INPUTS = (*VIDEO_INPUTS, *SELECTION, *STREAM, *TRANSFORM)
    PARAMETERS: ClassVar[tuple[str, ...]] = (*SOURCE_PARAMETERS, "strict_plan")

    planned = DecodeTask()

    def prepare(self, folder: str, settings: Settings) -> Settings:
        """See Model. Parameters that are not 0 replace the plan's choices."""
        path = Path(folder) / PLAN_NAME
        if not path.is_file():
            return settings
        plan = tricodec.Plan.load(path, strict=settings.strict_plan == "true")
        device = settings.device.replace("auto", "cuda").partition(":")[0]
        if plan.machine["device"] != device:
            raise ValueError(
                f"{path} is a plan for the device {plan.machine['device']!r}, and this instance decodes on "
                f"{settings.device!r}; make the plan with device={device!r}, or change instance_group"
            )
        request = plan.request
        self.planned = DecodeTask(request.selected(), request.stream_index, request.ignore_edit_list, request.transform)
        return dataclasses.replace(
            settings, workers=settings.workers or plan.workers, threads=settings.threads or plan.num_workers
        )

    def tasks(self, tensors: Tensors, requested: Collection[str]) -> list[tuple[Any, DecodeTask]]:
        """The videos of a request with their tasks, one a row."""
        tasks = []
        for index, data in enumerate(read_videos(tensors, self.settings)):
            selection = replaced(self.planned.selection, options(SELECTION, tensors, index))
            chosen = {"transform": self.transform_of(tensors, requested, index), **options(STREAM, tensors, index)}
            tasks.append((data, dataclasses.replace(self.planned, selection=selection, **chosen)))
        return tasks

    def transform_of(self, tensors: Tensors, requested: Collection[str], index: int = 0) -> dict[str, Any]:
        """The arguments of tricodec.Transform for a row."""
        dtype = OUTPUT_DTYPES[_frames_output(requested)]
        float_only = [name.upper() for name in _FLOAT_ONLY if name.upper() in tensors]
        if float_only and dtype == "uint8":
            raise ValueError(
                f"{float_only[0]} needs float frames: request the output FRAMES_FP16, FRAMES_BF16 or FRAMES_FP32, not "
                "FRAMES"
            )
        left_out = {"dtype", *(_FLOAT_ONLY if dtype == "uint8" else ())}
        planned = {name: value for name, value in self.planned.transform.items() if name not in left_out}
        return {"dtype": dtype, **planned, **options(TRANSFORM, tensors, index)}


def _frames_output(requested: Collection[str]) -> str:
    """The frame output that a request names, which decides the dtype; FRAMES if it names none or all."""
    named = [name for name in OUTPUT_DTYPES if name in requested]
    if 1 < len(named) < len(OUTPUT_DTYPES):
        raise ValueError(f"request one of the outputs {', '.join(OUTPUT_DTYPES)}, not {' and '.join(named)}")
    return named[0] if len(named) == 1 else "FRAMES"


def frames_output(frames: Any) -> dict[str, Any]:
    """The output with frames, by the name that their dtype has. NumPy sees the bits of bfloat16 as uint16."""
    dtype = str(frames.dtype).replace("uint16", "bfloat16")
    name = next(name for name, each in OUTPUT_DTYPES.items() if each == dtype)
    is_bits = dtype == "bfloat16" and isinstance(frames, np.ndarray)
    return {name: tricodec.arrays.Bfloat16Array(frames) if is_bits else frames}


def chunk_answer(chunk: Outcome, **others: Any) -> Answer:
    """The answer with some frames of a video, without a batch dimension, and with other outputs."""
    frames, pts = chunk.arrays[:2]
    damage = np.array([chunk.facts["num_damaged_packets"]], np.int64)
    outputs = {**frames_output(frames), "PTS": pts, "NUM_DAMAGED_PACKETS": damage, **others}
    return Answer(outputs, frames.nbytes, frames.shape[0])


def without_batch(tensors: Tensors) -> Tensors:
    """The inputs of a model without a batch dimension, with one."""
    return {name: tensor[np.newaxis] for name, tensor in tensors.items()}


def read_videos(tensors: Tensors, settings: Settings) -> list[Any]:
    """The media files of a request, one a row: bytes or a RemoteSource each."""
    if sum(name in tensors for name in VIDEO_INPUTS) != 1:
        raise ValueError("give either VIDEO, the bytes of a media file, or URL, where it is, and not both")
    if "URL" in tensors:
        return [_remote_source(text_of(element), settings) for element in tensors["URL"].reshape(-1)]
    files = []
    for element in tensors["VIDEO"].reshape(-1):
        data = text_of(element)
        if not data:
            raise ValueError("VIDEO is empty; send the bytes of a media file")
        settings.check_input(len(data), "VIDEO")
        files.append(data)
    return files


def _remote_source(name: bytes, settings: Settings) -> RemoteSource:
    """The video that a URL names. Redirects are checked while it is read."""
    if not 0 < len(name) <= _MAX_URL:
        raise ValueError(f"URL has {len(name)} bytes; expected 1 to {_MAX_URL}")
    url = name.decode("utf-8", "replace")
    if not settings.remote_prefixes:
        raise tricodec.RefusedError(
            f"URL is '{url}', and this model reads no URLs; send the bytes as VIDEO, or allow prefixes of URLs with "
            "`tricodec serve --allow-remote PREFIX` (the model's parameter allow_remote)"
        )
    return tricodec.open_remote(url, allowed_prefixes=settings.remote_prefixes, cache_bytes=CACHE_BYTES)
