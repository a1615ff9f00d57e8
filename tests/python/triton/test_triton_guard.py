# SPDX-License-Identifier: Apache-2.0
"""A stub that corrupts tensors under NumPy 2 is found out before it serves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tricodec.triton_backend.runtime.guard import check_stub


class FakeTensor:
    """A tensor of a stub with arrays that may have the wrong strides."""

    def __init__(self, name: str, array: Any) -> None:
        self.array = array

    def to_dlpack(self) -> Any:
        return self.array

    def as_numpy(self) -> Any:
        return self.array


class FakeStub:
    """The part of triton_python_backend_utils that the check uses."""

    def __init__(self, strides: tuple[int, ...]) -> None:
        class Tensor(FakeTensor):
            @staticmethod
            def from_dlpack(name: str, array: Any) -> FakeTensor:
                return FakeTensor(name, np.lib.stride_tricks.as_strided(array, strides=strides))

        self.Tensor = Tensor


def test_a_stub_that_keeps_tensors_passes() -> None:
    check_stub(FakeStub((1,)))


def test_a_stub_that_repeats_the_first_element_is_refused_with_the_remedy() -> None:
    with pytest.raises(RuntimeError, match=r"corrupts tensors under NumPy .*numpy<2"):
        check_stub(FakeStub((0,)))
