# SPDX-License-Identifier: Apache-2.0
"""The model `video_encode`: arrays of frames in, encoded videos out."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.encode_task import EncodeTask
from tricodec.triton_backend.encoder_request import ENCODER, check_threads
from tricodec.triton_backend.made_file import MadeFile
from tricodec.triton_backend.model import Answer, Model
from tricodec.triton_backend.request import check_size
from tricodec.triton_backend.rows import Table, number, options, word
from tricodec.triton_backend.settings import Settings

_FRAMES = ("FRAMES", "PLANES", "PLANES_UINT16")
_PICTURES: Table = {
    "COLOR": ("color", word),
    "LAYOUT": ("layout", word),
    "FORMAT": ("format", word),
    "MATRIX": ("matrix", word),
    "RANGE": ("range", word),
    "ROTATION": ("rotation", number),
}


@dataclasses.dataclass(frozen=True, slots=True)
class EncodeRequest:
    """One request: the bytes of each row's frames with what is asked of them."""

    items: list[tuple[Any, EncodeTask]]


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = (*_FRAMES, "PTS", *_PICTURES, *ENCODER)
    ITEM = "video"
    THREADS_ARE_SHARED = False

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> EncodeRequest:
        """See Model."""
        given = [name for name in _FRAMES if name in tensors]
        if len(given) != 1:
            raise ValueError(f"a request has one of {', '.join(_FRAMES)}, not {' and '.join(given) or 'none of them'}")
        (name,) = given
        if name != "FRAMES" and "FORMAT" not in tensors:
            raise ValueError(f'{name} needs FORMAT, the layout of the planes: "nv12", "yuv420p", "p010le", ...')
        items = []
        for index, frames in enumerate(tensors[name]):
            check_size(frames.nbytes, name, settings)
            words = options(_PICTURES, tensors, index) | options(ENCODER, tensors, index)
            check_threads(words, settings)
            data: Any = frames if frames.size else b"\0"  # a file of no bytes cannot be mapped
            if "PTS" in tensors:
                pts = np.asarray(tensors["PTS"][index], np.float64)
                if len(pts) != len(frames):
                    raise ValueError(f"PTS has {len(pts)} times for {len(frames)} frames; give one a frame")
                data = frames.tobytes() + pts.tobytes()
            items.append((data, EncodeTask(frames.shape, frames.dtype.name, "PTS" in tensors, words)))
        return EncodeRequest(items)

    def answer(self, request: EncodeRequest, outcomes: list[Any]) -> Answer:
        """The files, one a row."""
        num_frames = sum(made.facts["num_frames"] for made in outcomes)
        return Answer([file_tensor(outcomes)], num_frames, sum(len(made.data) for made in outcomes))


def file_tensor(files: list[MadeFile]) -> Any:
    """The output VIDEO, [B, 1]."""
    elements = np.empty((len(files), 1), np.object_)
    for index, made in enumerate(files):
        elements[index, 0] = made.data.tobytes()
    return pb_utils.Tensor("VIDEO", elements)
