# SPDX-License-Identifier: Apache-2.0
"""A check that the stub and NumPy fit each other."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_stub(pb_utils: Any) -> None:
    """Refuses to serve if tensors would arrive corrupted.

    Stubs of the Python backend before Triton 24.12 were compiled for the layout of NumPy 1 arrays: under NumPy 2, the
    arrays they make have strides that are not theirs, and every element reads as the first. An array that goes through
    the stub and back shows whether this one does that.

    Args:
        pb_utils: the module triton_python_backend_utils.

    Raises:
        RuntimeError: if the array came back changed; the text says what to do.
    """
    sent = np.arange(1, 65, dtype=np.uint8)
    through = pb_utils.Tensor.from_dlpack("CHECK", pb_utils.Tensor("CHECK", sent).to_dlpack()).as_numpy()
    if not np.array_equal(sent, through):
        raise RuntimeError(
            f"this stub of Triton's Python backend corrupts tensors under NumPy {np.__version__} (stubs before Triton "
            "24.12 need NumPy below 2): put numpy<2 into the environment that EXECUTION_ENV_PATH names, or start the "
            "server with `tricodec serve`, which makes such an environment"
        )
