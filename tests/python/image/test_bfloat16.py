# SPDX-License-Identifier: Apache-2.0
"""bfloat16 and TensorRT's layouts in Python; the numbers are those of float32, rounded by ml_dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated

NORMALIZED: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


@pytest.fixture(scope="module")
def frame() -> tricodec.Frame:
    return tricodec.FrameReader(generated("h264_bframes.mp4"))[3]


@pytest.mark.needs_torch
def test_a_torch_tensor_of_bfloat16_is_written_in_place(frame: tricodec.Frame) -> None:
    import torch

    transform = tricodec.Transform(size=(20, 30), dtype="bfloat16", **NORMALIZED)
    out = torch.zeros((20, 30, 3), dtype=torch.bfloat16)

    assert transform(frame, out=out) is out

    exact = torch.from_numpy(tricodec.Transform(size=(20, 30), dtype="float32", **NORMALIZED)(frame))
    assert torch.equal(out, exact.to(torch.bfloat16))
    with pytest.raises(TypeError, match="dtype float16; the result is bfloat16"):
        transform(frame, out=out.half())


@pytest.mark.needs_torch
def test_bits_in_a_uint16_array_stand_for_bfloat16(frame: tricodec.Frame) -> None:
    import torch

    transform = tricodec.Transform(size=(20, 30), dtype="bfloat16")
    bits = np.zeros((20, 60, 3), np.uint16)
    out = tricodec.arrays.Bfloat16Array(bits[:, ::2])

    assert transform(frame, out=out) is out

    expected = transform(frame)
    np.testing.assert_array_equal(bits[:, ::2], expected.view(np.uint16))
    assert not bits[:, 1::2].any()
    assert torch.equal(torch.from_dlpack(out), torch.from_numpy(expected.view(np.uint16)).view(torch.bfloat16))
    with pytest.raises(TypeError, match="uint16, not float32"):
        tricodec.arrays.Bfloat16Array(np.zeros(3, np.float32)).__dlpack__()  # type: ignore[arg-type]
