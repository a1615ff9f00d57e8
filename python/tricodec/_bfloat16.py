# SPDX-License-Identifier: Apache-2.0
"""bfloat16, which NumPy lacks, by DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tricodec._tricodec import bfloat16_to_dlpack

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import CapsuleType


class Bfloat16Array:
    """bfloat16 numbers over a uint16 NumPy array that holds their bits; nothing is copied.

    For `out=` and for consumers of DLPack, where the package ml_dtypes, which adds the type to NumPy, is not wanted:
    ``torch.from_dlpack(Bfloat16Array(bits))``.
    """

    def __init__(self, bits: npt.NDArray[np.uint16]) -> None:
        """Shares the memory of `bits`."""
        self.bits = bits

    def __dlpack__(self, **_: Any) -> CapsuleType:
        """An unversioned capsule, which every consumer understands."""
        return bfloat16_to_dlpack(self.bits)

    def __dlpack_device__(self) -> tuple[int, int]:
        """In host memory."""
        return (1, 0)
