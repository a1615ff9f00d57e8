# SPDX-License-Identifier: Apache-2.0
"""`tricodec.pinned_empty` without a GPU: ordinary memory that behaves as the page-locked does."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import tricodec
from media import generated


@pytest.fixture(autouse=True)
def _without_gpu() -> None:
    if "CUDA" in tricodec.build_info() and tricodec.resolve_device("auto") != "cpu":
        pytest.skip("a GPU is here: tests/python/gpu and tests/python/cuda test its memory")


@pytest.mark.parametrize(
    ("shape", "dtype"), [((2, 3, 4), "float32"), (7, np.uint8), ([5], "int64"), ((0, 4), "float16"), ((), "float64")]
)
def test_an_array_has_the_shape_and_the_dtype(shape: tuple[int, ...], dtype: str) -> None:
    array = tricodec.pinned_empty(shape, dtype)

    expected = np.empty(shape, dtype)
    assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
    assert array.flags.writeable
    assert array.flags.c_contiguous


def in_use_bytes() -> int:
    """Page-locked memory where there is a GPU, or ordinary memory."""
    uses = tricodec.memory_stats()
    return sum(uses[name].in_use_bytes for name in ("host", "pinned cuda:0") if name in uses)


def test_the_memory_is_counted_until_the_last_view_is_gone() -> None:
    gc.collect()
    before = in_use_bytes()
    array = tricodec.pinned_empty((1 << 20,), "float32")
    view = array[5:9]
    assert in_use_bytes() - before == 4 << 20
    del array
    assert in_use_bytes() - before == 4 << 20
    del view
    gc.collect()
    assert in_use_bytes() == before


def test_it_takes_a_result() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cpu") as reader:
        out = tricodec.pinned_empty((4, 48, 64, 3))
        assert reader.batch(range(4), size=(48, 64), out=out) is out
        assert np.array_equal(out, reader.batch(range(4), size=(48, 64)))


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape is \(2, -1\); sizes must be 0 or more"):
        tricodec.pinned_empty((2, -1))
    with pytest.raises(ValueError, match="shape has more than 64 sizes"):
        tricodec.pinned_empty(range(1 << 40))
    with pytest.raises(ValueError, match=r"dtype is object"):
        tricodec.pinned_empty(3, object)
    with pytest.raises(ValueError, match=r"device_index is -1"):
        tricodec.pinned_empty(3, device_index=-1)
