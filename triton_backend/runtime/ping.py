# SPDX-License-Identifier: Apache-2.0
"""Requests that only ask about the process of a model: whether it is alive, and whether it is older than a request."""

from __future__ import annotations

import json
import time
from typing import Any

import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.runtime.errors import Failure

_PARAMETER = "tricodec_ping"
_BEGAN = time.monotonic()


def answer_ping(request: Any) -> Any:
    """The response to a request with the parameter that says so; None for others. It looks at no inputs and outputs.

    The parameter is true (`tricodec serve --watch`), or a number of milliseconds (`tricodec.triton.client`). The
    response is an error if this process is younger than that.
    """
    parameters = request.parameters()
    if f'"{_PARAMETER}"' not in parameters:
        return None
    wanted, age = json.loads(parameters).get(_PARAMETER), time.monotonic() - _BEGAN
    if not isinstance(wanted, int) or isinstance(wanted, bool) or age >= wanted / 1000:
        return pb_utils.InferenceResponse(output_tensors=[])
    younger = Failure("UnavailableError", f"this process began {age:.1f} s ago, after the request of {wanted} ms ago")
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(younger.text, pb_utils.TritonError.UNAVAILABLE))
