# SPDX-License-Identifier: Apache-2.0
"""What models that work in the stub itself have in common: they answer one request after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.runtime.errors import failure_of
from tricodec.triton_backend.runtime.ping import answer_ping


class CallError(Exception):
    """A model that was called has answered with an error."""

    def __init__(self, error: Any) -> None:
        super().__init__(error.message())
        self.error = error


def answer(request: Any, outputs_of: Callable[[Any], Mapping[str, npt.NDArray[Any]]]) -> Any:
    """The response to a request: the outputs that it wants of those that `outputs_of` gives for it, or an error."""
    if (pong := answer_ping(request)) is not None:
        return pong
    try:
        outputs = outputs_of(request)
    except CallError as error:
        return pb_utils.InferenceResponse(error=error.error)
    except Exception as error:  # the request's own, whatever it is: an exception here would fail the whole batch
        failure = failure_of(error)
        return pb_utils.InferenceResponse(
            error=pb_utils.TritonError(failure.text, getattr(pb_utils.TritonError, failure.code))
        )
    wanted = request.requested_output_names()
    return pb_utils.InferenceResponse(
        [pb_utils.Tensor(name, array) for name, array in outputs.items() if name in wanted]
    )
