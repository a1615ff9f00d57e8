# SPDX-License-Identifier: Apache-2.0
"""The model `probe`: media files in, what they contain out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.probe_task import ProbeTask
from tricodec.triton_backend.models.video_encode import fact_tensors, file_tensor
from tricodec.triton_backend.models.video_input import VIDEO_INPUTS, read_videos
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import Table, number, options
from tricodec.triton_backend.runtime.settings import SOURCE_PARAMETERS, Settings

_STREAM: Table = {"STREAM": ("stream_index", number)}
_FACTS: dict[str, tuple[str, Any]] = {
    "NUM_FRAMES": ("num_frames", np.int64),
    "WIDTH": ("width", np.int64),
    "HEIGHT": ("height", np.int64),
    "FRAME_RATE": ("frame_rate", np.float64),
    "SECONDS": ("seconds", np.float64),
    "CODEC": ("codec", np.object_),
}


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = (*VIDEO_INPUTS, *_STREAM)
    PARAMETERS = SOURCE_PARAMETERS
    ITEM = "file"

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> list[tuple[bytes, ProbeTask]]:
        """See Model."""
        del requested
        files = read_videos(tensors, settings)
        return [(data, ProbeTask(**options(_STREAM, tensors, index))) for index, data in enumerate(files)]

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The facts of all files, a row each."""
        tensors = [file_tensor(outcomes, "JSON"), *fact_tensors(_FACTS, requested, outcomes)]
        num_bytes = sum(file.arrays[0].size for file in outcomes)
        return Answer(tensors, 0, num_bytes)
