# SPDX-License-Identifier: Apache-2.0
"""Element types of arrays that go into a codec and come out: numpy reads them back, or one TypeError refuses them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import tricodec
from tricodec import nvcomp
from tricodec.compress.numcodecs import Tricodec

_CODEC = nvcomp.Codec(algorithm="LZ4", device="cpu")


@pytest.mark.parametrize("dtype", ["|O", "O", "object", np.dtype("O"), object])
def test_results_are_never_references(dtype: Any) -> None:
    packed = _CODEC.encode(np.arange(64, dtype=np.uint8))

    with pytest.raises(TypeError, match="object"):
        _CODEC.decode(packed, data_type=dtype)
    with pytest.raises(TypeError, match="object"):
        nvcomp.Codec(algorithm="Bitcomp", data_type=dtype)
    with pytest.raises(TypeError, match="object"):
        Tricodec("Bitcomp", data_type=dtype)


def test_npy_files_of_objects_are_refused() -> None:
    array = np.array([{}, 1], object)
    with pytest.raises(TypeError, match="references to Python objects"):
        _CODEC.encode_npy(array)
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    with pytest.raises(tricodec.UnsupportedError, match=r"\|O"):
        _CODEC.decode_npy(_CODEC.encode(file.getvalue()))
