# SPDX-License-Identifier: Apache-2.0
"""The model `video_transcode`: encoded videos in, videos of another codec, size, range or container out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.encode_task import TranscodeTask
from tricodec.triton_backend.models.video_encode import ENCODER, check_threads, fact_tensors, file_tensor
from tricodec.triton_backend.models.video_input import VIDEO_INPUTS, read_videos
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import Table, number, numbers, options
from tricodec.triton_backend.runtime.settings import SOURCE_PARAMETERS, Settings

_WHAT: Table = {
    "CROP": ("crop", numbers(4, "top, left, height, width")),
    "SIZE": ("size", numbers(2, "height, width")),
    "START_SECONDS": ("start", number),
    "END_SECONDS": ("end", number),
    "AUDIO": ("audio", number),
}
_FACTS: dict[str, tuple[str, Any]] = {
    "NUM_FRAMES": ("num_frames", np.int64),
    "NUM_AUDIO_PACKETS": ("num_audio_packets", np.int64),
    "NUM_DAMAGED_PACKETS": ("num_damaged_packets", np.int64),
    "SIZE_BYTES": ("size_bytes", np.int64),
    "SECONDS": ("seconds", np.float64),
    "DECODER": ("decoder", np.object_),
    "ENCODER": ("encoder", np.object_),
    "LEFT_OUT": ("left_out", np.object_),
}
"""Outputs beside VIDEO: what tricodec.encode.TranscodeResult says."""

_BARE = {"h264": "h264", "hevc": "hevc", "av1": "obu"}
"""libavformat's names of bare streams; VP8 and VP9 have none but IVF."""


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = (*VIDEO_INPUTS, *_WHAT, *ENCODER)
    PARAMETERS = SOURCE_PARAMETERS

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> list[tuple[bytes, TranscodeTask]]:
        """See Model."""
        items = []
        for index, data in enumerate(read_videos(tensors, settings)):
            words = options(ENCODER, tensors, index)
            check_threads(words, settings)
            what = options(_WHAT, tensors, index)
            items.append((data, TranscodeTask({"num_threads": 1, **what, **_as_transcode(words)})))
        return items

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The files, one a row, and what was asked about them."""
        tensors = [file_tensor(outcomes), *fact_tensors(_FACTS, requested, outcomes)]
        num_frames = sum(file.facts["num_frames"] for file in outcomes)
        return Answer(tensors, num_frames, sum(file.arrays[0].size for file in outcomes))


def _as_transcode(words: dict[str, Any]) -> dict[str, Any]:
    """Options of tricodec.encode_video as options of tricodec.transcode."""
    request = dict(words)
    container = request.pop("container", "mp4")
    request["format"] = _BARE.get(request.get("codec", "h264"), "ivf") if container == "raw" else container
    return request
