# SPDX-License-Identifier: Apache-2.0
"""The model `video_text_bls`: a video in, its labels over time out. It calls video_session, chunk after chunk.

An ensemble has all frames of a request in memory. This model (NVIDIA calls it business logic scripting) has those of
one chunk, so a video may be as long as it likes.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.models.text_detector import NetworkModel
from tricodec.triton_backend.models.text_network import THRESHOLD, labels, segments
from tricodec.triton_backend.runtime.errors import cancelled
from tricodec.triton_backend.runtime.inline import CallError, thresholds
from tricodec.triton_backend.runtime.room import names_memory, no_room

_SESSION = "video_session"
_PASSED_ON = ("VIDEO", "START", "STRIDE", "COUNT", "STREAM", "CROP", "SIZE")
_OUTPUTS = ("FRAMES", "PTS", "LAST", "NUM_DAMAGED_PACKETS")
_CHUNK = 16


class TritonPythonModel(NetworkModel):
    """What Triton calls."""

    def _outputs(self, request: Any) -> dict[str, npt.NDArray[Any]]:
        least = thresholds(request, 1, THRESHOLD)
        shares, pts, num_damaged = [], [], np.zeros(1, np.int64)
        for chunk in _chunks(request):
            shares.append(self._network.text_shares(chunk["FRAMES"]))
            pts.append(chunk["PTS"])
            num_damaged = chunk["NUM_DAMAGED_PACKETS"]
        names = labels(np.concatenate(shares), least)
        times, of_segments = segments(np.concatenate(pts), names)
        return {
            "TEXT_SHARES": np.concatenate(shares),
            "LABELS": names,
            "PTS": np.concatenate(pts),
            "SEGMENTS": times,
            "SEGMENT_LABELS": of_segments,
            "NUM_DAMAGED_PACKETS": num_damaged,
        }


def _chunks(request: Any) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """The answers of a session with the video of a request. Triton's trace of the request includes them."""
    key = secrets.randbits(63) or 1
    chunk = pb_utils.Tensor("CHUNK", np.array([_CHUNK], np.int64))
    given = [pb_utils.get_input_tensor_by_name(request, name) for name in _PASSED_ON]
    inputs = [chunk, *(tensor for tensor in given if tensor is not None)]
    flags = pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START
    try:
        while True:
            answer = _call(request, key, inputs, flags)
            yield answer
            if answer["LAST"][0]:
                return
            if request.is_cancelled():
                raise CallError(pb_utils.TritonError(cancelled().text, pb_utils.TritonError.CANCELLED))
            inputs, flags = [chunk], 0
    finally:
        nothing = pb_utils.Tensor("CHUNK", np.zeros(1, np.int64))
        with contextlib.suppress(CallError):  # a session that was not opened
            _call(request, key, [nothing], pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END)


def _call(request: Any, key: int, inputs: list[Any], flags: int) -> dict[str, npt.NDArray[Any]]:
    call = pb_utils.InferenceRequest(
        model_name=_SESSION,
        requested_output_names=list(_OUTPUTS),
        inputs=inputs,
        correlation_id=key,
        flags=flags,
        trace=request.trace(),
    )
    response = call.exec()
    if response.has_error():
        error = response.error()
        raise no_room(f"an answer of {_SESSION}") if names_memory(error) else CallError(error)
    return {name: pb_utils.get_output_tensor_by_name(response, name).as_numpy() for name in _OUTPUTS}
