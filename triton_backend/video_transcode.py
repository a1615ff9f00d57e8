# SPDX-License-Identifier: Apache-2.0
"""The model `video_transcode`: encoded videos in, videos of another codec, size, range or container out."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.encoder_request import ENCODER, check_threads
from tricodec.triton_backend.model import Answer, Model
from tricodec.triton_backend.request import read_files
from tricodec.triton_backend.rows import Table, number, numbers, options
from tricodec.triton_backend.settings import Settings
from tricodec.triton_backend.transcode_task import TranscodeTask
from tricodec.triton_backend.video_encode import file_tensor

_WHAT: Table = {
    "CROP": ("crop", numbers(4)),
    "SIZE": ("size", numbers(2)),
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
}
"""Outputs beside VIDEO: what tricodec.TranscodeResult says."""

_BARE = {"h264": "h264", "hevc": "hevc", "av1": "obu"}
"""libavformat's names of bare streams; VP8 and VP9 have none but IVF."""


@dataclasses.dataclass(frozen=True, slots=True)
class TranscodeRequest:
    """One request: files with what is asked of each, and the facts that it asks for."""

    items: list[tuple[bytes, TranscodeTask]]
    facts: list[str]


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = ("VIDEO", *_WHAT, *ENCODER)
    THREADS_ARE_SHARED = False

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> TranscodeRequest:
        """See Model."""
        items = []
        for index, data in enumerate(read_files(tensors["VIDEO"], settings)):
            words = options(ENCODER, tensors, index)
            check_threads(words, settings)
            what = options(_WHAT, tensors, index)
            items.append((data, TranscodeTask({"num_threads": 1, **what, **_as_transcode(words)})))
        return TranscodeRequest(items, [name for name in _FACTS if name in requested])

    def answer(self, request: TranscodeRequest, outcomes: list[Any]) -> Answer:
        """The files, one a row, and what was asked about them."""
        tensors = [file_tensor(outcomes)]
        for name in request.facts:
            fact, dtype = _FACTS[name]
            values = [made.facts[fact] for made in outcomes]
            if dtype is np.object_:
                values = [value.encode() for value in values]
            tensors.append(pb_utils.Tensor(name, np.array(values, dtype).reshape(-1, 1)))
        num_frames = sum(made.facts["num_frames"] for made in outcomes)
        return Answer(tensors, num_frames, sum(len(made.data) for made in outcomes))


def _as_transcode(words: dict[str, Any]) -> dict[str, Any]:
    """Words of tricodec.encode_video in those of tricodec.transcode."""
    request = dict(words)
    container = request.pop("container", "mp4")
    request["format"] = _BARE.get(request.get("codec", "h264"), "ivf") if container == "raw" else container
    return request
