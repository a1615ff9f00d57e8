# SPDX-License-Identifier: Apache-2.0
"""From the tensors of one Triton request to the videos it asks for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tricodec.triton_backend.decode_task import OUTPUT_DTYPES, DecodeTask
from tricodec.triton_backend.settings import Settings

_MAX_WORD = 64
_MAX_CHANNELS = 4


def _number(row: npt.NDArray[Any]) -> Any:
    if row.size != 1:
        raise ValueError(f"expected one value, got {row.size}")
    return row.reshape(-1).tolist()[0]


def _numbers(count: int) -> Callable[[npt.NDArray[Any]], list[Any]]:
    def convert(row: npt.NDArray[Any]) -> list[Any]:
        if row.size != count:
            raise ValueError(f"expected {count} values, got {row.size}")
        return list(row.reshape(-1).tolist())

    return convert


def _channels(row: npt.NDArray[Any]) -> list[Any]:
    if not 1 <= row.size <= _MAX_CHANNELS:
        raise ValueError(f"expected one value, or one a channel, got {row.size}")
    return list(row.reshape(-1).tolist())


def _word(row: npt.NDArray[Any]) -> str:
    value = _number(row)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if len(text) > _MAX_WORD:
        raise ValueError(f"expected a word, got {len(text)} characters")
    return text


_SELECTION: dict[str, tuple[str, Callable[[npt.NDArray[Any]], Any]]] = {
    "START": ("start", _number),
    "STRIDE": ("stride", _number),
    "COUNT": ("count", _number),
    "STREAM": ("stream_index", _number),
}
_TRANSFORM: dict[str, tuple[str, Callable[[npt.NDArray[Any]], Any]]] = {
    "CROP": ("crop", _numbers(4)),
    "SIZE": ("size", _numbers(2)),
    "RESIZE": ("resize", _word),
    "ANTIALIAS": ("antialias", _number),
    "COLOR": ("color", _word),
    "MATRIX": ("matrix", _word),
    "RANGE": ("range", _word),
    "UNSPECIFIED": ("unspecified", _word),
    "ROTATE": ("rotate", _number),
    "LAYOUT": ("layout", _word),
    "SCALE": ("scale", _number),
    "MEAN": ("mean", _channels),
    "STD": ("std", _channels),
}
_FLOAT_ONLY = ("SCALE", "MEAN", "STD")

INPUTS = ("VIDEO", *_SELECTION, *_TRANSFORM)
"""All inputs of the model; all but VIDEO are optional."""


@dataclasses.dataclass(frozen=True, slots=True)
class VideoRequest:
    """One Triton request.

    Attributes:
        items: encoded files with what is asked of each, the batch dimension of the request.
        frames_output: the output for the frames.
        wants_pts: whether the output PTS is requested.
    """

    items: list[tuple[bytes, DecodeTask]]
    frames_output: str
    wants_pts: bool


def read_request(
    tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
) -> VideoRequest:
    """Checks one request.

    Args:
        tensors: the inputs that it has, each with the batch dimension first.
        requested: names of the outputs that it asks for. Triton names all of them when the client names none.
        settings: of the model.

    Raises:
        ValueError: naming the input that is not accepted.
    """
    output = _frames_output(requested)
    dtype = OUTPUT_DTYPES[output]
    for name in _FLOAT_ONLY:
        if name in tensors and dtype == "uint8":
            raise ValueError(
                f"{name} needs float frames: request the output FRAMES_FP16, FRAMES_BF16 or FRAMES_FP32, not FRAMES"
            )
    videos = []
    for index, video in enumerate(tensors["VIDEO"].reshape(-1)):
        data = video if isinstance(video, bytes) else str(video).encode()
        if not data:
            raise ValueError("VIDEO is empty; send the bytes of a media file")
        if len(data) > settings.max_input_bytes:
            raise ValueError(
                f"VIDEO has {len(data)} bytes, and this model accepts at most {settings.max_input_bytes} "
                "(its parameter max_input_bytes)"
            )
        transform = {"dtype": dtype, **_options(_TRANSFORM, tensors, index)}
        videos.append((data, DecodeTask(**_options(_SELECTION, tensors, index), transform=transform)))
    return VideoRequest(videos, output, "PTS" in requested)


def _frames_output(requested: Collection[str]) -> str:
    named = [name for name in OUTPUT_DTYPES if name in requested]
    if 1 < len(named) < len(OUTPUT_DTYPES):
        raise ValueError(f"request one of the outputs {', '.join(OUTPUT_DTYPES)}, not {' and '.join(named)}")
    return named[0] if len(named) == 1 else "FRAMES"


def _options(
    table: Mapping[str, tuple[str, Callable[[npt.NDArray[Any]], Any]]],
    tensors: Mapping[str, npt.NDArray[Any]],
    index: int,
) -> dict[str, Any]:
    options = {}
    for name, (option, convert) in table.items():
        if name in tensors:
            try:
                options[option] = convert(np.asarray(tensors[name][index]))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
    return options
