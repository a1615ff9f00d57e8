# SPDX-License-Identifier: Apache-2.0
"""From the tensors of one Triton request to the videos it asks for."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy.typing as npt
from tricodec.triton_backend.decode_task import OUTPUT_DTYPES, DecodeTask
from tricodec.triton_backend.rows import Table, number, numbers, options, word
from tricodec.triton_backend.settings import Settings

_MAX_CHANNELS = 4


def _channels(row: npt.NDArray[Any]) -> list[Any]:
    if not 1 <= row.size <= _MAX_CHANNELS:
        raise ValueError(f"expected one value, or one a channel, got {row.size}")
    return list(row.reshape(-1).tolist())


_SELECTION: Table = {
    "START": ("start", number),
    "STRIDE": ("stride", number),
    "COUNT": ("count", number),
    "STREAM": ("stream_index", number),
}
_TRANSFORM: Table = {
    "CROP": ("crop", numbers(4)),
    "SIZE": ("size", numbers(2)),
    "RESIZE": ("resize", word),
    "ANTIALIAS": ("antialias", number),
    "COLOR": ("color", word),
    "MATRIX": ("matrix", word),
    "RANGE": ("range", word),
    "UNSPECIFIED": ("unspecified", word),
    "ROTATE": ("rotate", number),
    "LAYOUT": ("layout", word),
    "SCALE": ("scale", number),
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
        wants_damage: whether the output NUM_DAMAGED_PACKETS is.
    """

    items: list[tuple[bytes, DecodeTask]]
    frames_output: str
    wants_pts: bool
    wants_damage: bool


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
    for index, data in enumerate(read_files(tensors["VIDEO"], settings)):
        transform = {"dtype": dtype, **options(_TRANSFORM, tensors, index)}
        videos.append((data, DecodeTask(**options(_SELECTION, tensors, index), transform=transform)))
    return VideoRequest(videos, output, "PTS" in requested, "NUM_DAMAGED_PACKETS" in requested)


def read_files(video: npt.NDArray[Any], settings: Settings) -> list[bytes]:
    """The media files of the input VIDEO, one a row.

    Raises:
        ValueError: if one is empty, or larger than the model accepts.
    """
    files = []
    for element in video.reshape(-1):
        data = element if isinstance(element, bytes) else str(element).encode()
        if not data:
            raise ValueError("VIDEO is empty; send the bytes of a media file")
        check_size(len(data), "VIDEO", settings)
        files.append(data)
    return files


def check_size(size: int, name: str, settings: Settings) -> None:
    """Raises ValueError for an input of more bytes than the model accepts."""
    if size > settings.max_input_bytes:
        raise ValueError(
            f"{name} has {size} bytes, and this model accepts at most {settings.max_input_bytes} (its parameter "
            "max_input_bytes)"
        )


def _frames_output(requested: Collection[str]) -> str:
    named = [name for name in OUTPUT_DTYPES if name in requested]
    if 1 < len(named) < len(OUTPUT_DTYPES):
        raise ValueError(f"request one of the outputs {', '.join(OUTPUT_DTYPES)}, not {' and '.join(named)}")
    return named[0] if len(named) == 1 else "FRAMES"
