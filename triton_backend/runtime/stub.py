# SPDX-License-Identifier: Apache-2.0
"""The stub of Triton's Python backend that a model runs in: its tensors, and the shared memory for them.

Triton's own error names that memory, which a client could then map. And after a failed answer Triton takes no other
answer for the request. So what cannot fit is refused before it is sent.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.runtime.errors import Failure

_FOLDER = Path("/dev/shm")
_MARGIN_BYTES = 16 << 20
_MARGIN_OF_MESSAGES = 1 << 16
_PATIENCE_SECONDS = 1.0
_POLL_SECONDS = 0.02
_REMEDY = "request less, or give the server more shared memory (--shm-size of its container)"


def check_stub() -> None:
    """Refuses to serve, by a RuntimeError, if tensors would arrive corrupted.

    Stubs of the Python backend before Triton 24.12 were compiled for the layout of NumPy 1 arrays: under NumPy 2, the
    arrays they make have strides that are not theirs, and every element reads as the first. An array that goes through
    the stub and back shows whether this one does that.
    """
    sent = np.arange(1, 65, dtype=np.uint8)
    through = pb_utils.Tensor.from_dlpack("CHECK", pb_utils.Tensor("CHECK", sent).to_dlpack()).as_numpy()
    if not np.array_equal(sent, through):
        raise RuntimeError(
            f"this stub of Triton's Python backend corrupts tensors under NumPy {np.__version__} (stubs before Triton "
            "24.12 need NumPy below 2): put numpy<2 into the environment that EXECUTION_ENV_PATH names, or start the "
            "server with `tricodec serve`, which makes such an environment"
        )


def numpy_type(described: dict[str, Any]) -> np.dtype[Any]:
    """The dtype of an input or output in a configuration; `object` for BYTES."""
    return np.dtype(pb_utils.triton_string_to_numpy(described["data_type"]))


def tensor(name: str, array: Any) -> Any:
    """An output. What is no array of NumPy, such as one on a GPU, stays where it is and is passed on by DLPack."""
    return pb_utils.Tensor(name, array) if isinstance(array, np.ndarray) else pb_utils.Tensor.from_dlpack(name, array)


def failed(failure: Failure) -> Any:
    """The answer to a request that failed."""
    code = getattr(pb_utils.TritonError, failure.code)
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(failure.text, code))


def take_room(tensors: list[Any], num_bytes: int) -> None:
    """Takes the shared memory that it takes to send tensors of the CPU, unless there is plenty.

    Sending itself may fail only once, and its client then gets no reason. As inputs of a call the tensors take the same
    memory, and keep it. One more leaves room for what goes with them. Triton refuses the call: no model has no name.
    Other answers give their memory back when they have been sent, so this waits for a while.

    Raises:
        MemoryError: there is not enough.
    """
    system = os.statvfs(_FOLDER)
    free = system.f_bavail * system.f_frsize
    if not tensors or 2 * num_bytes + _MARGIN_BYTES <= free:  # whatever else takes memory meanwhile
        return
    most = free + _pool_bytes()
    if num_bytes > most:
        raise MemoryError(f"the answer has {num_bytes} bytes, and {most} bytes of shared memory are left; {_REMEDY}")
    inputs = [*tensors, pb_utils.Tensor("MARGIN", np.empty(_MARGIN_OF_MESSAGES, np.uint8))]
    call = pb_utils.InferenceRequest(model_name="", requested_output_names=[], inputs=inputs)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while "Failed to increase the shared memory pool" in call.exec().error().message():
        if time.monotonic() > deadline:
            raise no_room(num_bytes)
        time.sleep(_POLL_SECONDS)


def no_room(num_bytes: int) -> MemoryError:
    """The error in place of Triton's, for an answer that does not fit beside what the memory has already."""
    return MemoryError(f"no shared memory is left for an answer of {num_bytes} bytes; {_REMEDY}")


def _pool_bytes() -> float:
    """The size of this stub's pool, which has room if nothing else is in it; infinite if its arguments name none."""
    arguments = Path("/proc/self/cmdline").read_bytes().split(b"\0")
    try:
        return (_FOLDER / os.fsdecode(arguments[2])).stat().st_size
    except (IndexError, OSError):
        return math.inf
