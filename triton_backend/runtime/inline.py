# SPDX-License-Identifier: Apache-2.0
"""What models that work in the stub itself have in common: they answer one request after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.runtime.errors import failure_of
from tricodec.triton_backend.runtime.rows import number, options


def answer(request: Any, outputs_of: Callable[[Any], Mapping[str, npt.NDArray[Any]]]) -> Any:
    """The response to a request: the outputs that it wants of those that `outputs_of` gives for it, or an error."""
    try:
        outputs = outputs_of(request)
    except Exception as error:  # the request's own, whatever it is: an exception here would fail the whole batch
        failure = failure_of(error)
        return pb_utils.InferenceResponse(
            error=pb_utils.TritonError(failure.text, getattr(pb_utils.TritonError, failure.code))
        )
    wanted = request.requested_output_names()
    return pb_utils.InferenceResponse(
        [pb_utils.Tensor(name, array) for name, array in outputs.items() if name in wanted]
    )


def thresholds(request: Any, num_rows: int, default: float) -> npt.NDArray[np.float32]:
    """The THRESHOLD of each row of a request, a part of a picture's pixels.

    Raises:
        ValueError: one is not accepted.
    """
    tensor = pb_utils.get_input_tensor_by_name(request, "THRESHOLD")
    if tensor is None:
        return np.full(num_rows, default, np.float32)
    tensors = {"THRESHOLD": tensor.as_numpy().reshape(num_rows, -1)}
    values = [options({"THRESHOLD": ("value", number)}, tensors, row)["value"] for row in range(num_rows)]
    for value in values:
        if not 0 <= value <= 1:
            raise ValueError(f"THRESHOLD is {value}; accepted are 0 to 1, the part of a picture's pixels")
    return np.array(values, np.float32)
