# SPDX-License-Identifier: Apache-2.0
"""Room in the shared memory through which Triton takes answers from this process.

Triton's own error names that memory, which a client could then map. And after a failed answer Triton takes no other
answer for the request. So what cannot fit is refused before it is sent.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

_FOLDER = Path("/dev/shm")
_MARGIN_BYTES = 16 << 20
_MARGIN_OF_MESSAGES = 1 << 16
_PATIENCE_SECONDS = 1.0
_POLL_SECONDS = 0.02
_REMEDY = "request less, or give the server more shared memory (--shm-size of its container)"


def expect_room(num_bytes: int) -> None:
    """Raises MemoryError for an answer that does not fit, even if the pool had nothing else in it."""
    pool = _pool_bytes() if num_bytes else None
    if pool is None:
        return
    system = os.statvfs(_FOLDER)
    free = system.f_bavail * system.f_frsize
    if num_bytes > free + pool:
        raise MemoryError(
            f"the answer has {num_bytes} bytes, and {free + pool} bytes of shared memory are left; {_REMEDY}"
        )


def has_ample_room(num_bytes: int) -> bool:
    """Whether an answer fits, whatever else takes memory meanwhile."""
    system = os.statvfs(_FOLDER)
    return 2 * num_bytes + _MARGIN_BYTES <= system.f_bavail * system.f_frsize


def take_room(tensors: list[Any]) -> bool:
    """Has tensors of the CPU take the shared memory that sending them needs; False if Triton has none left.

    Sending itself may fail only once, and its client then gets no reason. As inputs of a call the tensors take the same
    memory, and keep it. One more leaves room for what goes with them. Triton refuses the call: no model has no name.
    Other answers give their memory back when they have been sent, so this waits for a while.
    """
    inputs = [*tensors, pb_utils.Tensor("MARGIN", np.empty(_MARGIN_OF_MESSAGES, np.uint8))]
    call = pb_utils.InferenceRequest(model_name="", requested_output_names=[], inputs=inputs)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while names_memory(call.exec().error()):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def names_memory(error: Any) -> bool:
    """Whether an error of Triton's says that its shared memory is full. It then names that memory."""
    return "Failed to increase the shared memory pool" in error.message()


def no_room(what: str) -> MemoryError:
    """The error in place of Triton's, for what does not fit beside that which the memory has already."""
    return MemoryError(f"no shared memory is left for {what}; {_REMEDY}")


def _pool_bytes() -> int | None:
    """The size of this stub's pool; None if its arguments do not name one."""
    arguments = Path("/proc/self/cmdline").read_bytes().split(b"\0")
    try:
        return (_FOLDER / os.fsdecode(arguments[2])).stat().st_size
    except (IndexError, OSError):
        return None
