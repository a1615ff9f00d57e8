# SPDX-License-Identifier: Apache-2.0
"""Arrays of bfloat16, a type that NumPy does not have, for DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tricodec._tricodec import bfloat16_to_dlpack

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import CapsuleType


class Bfloat16Array:
    """bfloat16 numbers over the memory of a uint16 NumPy array with their bits, without a copy.

    For `out=` and consumers of DLPack in programs without the package ml_dtypes, which adds the type to NumPy:
    ``torch.from_dlpack(Bfloat16Array(bits))``.
    """

    def __init__(self, bits: npt.NDArray[np.uint16]) -> None:
        """Share the memory of `bits`, uint16 with any shape."""
        self.bits = bits

    def __dlpack__(self, **_: Any) -> CapsuleType:
        """Return an unversioned capsule, which every consumer can read."""
        return bfloat16_to_dlpack(self.bits)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return (1, 0): host memory."""
        return (1, 0)
