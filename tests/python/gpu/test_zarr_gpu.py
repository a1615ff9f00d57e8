# SPDX-License-Identifier: Apache-2.0
"""Zarr stores read into the memory of a GPU: the values that Zarr reads on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
zarr = pytest.importorskip("zarr")

VALUES = np.cumsum(np.random.default_rng(1).integers(-5, 6, (96, 80, 12)), axis=0).astype("<i4")


def codecs() -> dict[str, Any]:
    from tricodec.compress.zarr import TricodecCodec
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
    from zarr.codecs.numcodecs import LZ4

    return {
        "zstd": ZstdCodec(level=3, checksum=True),
        "gzip": GzipCodec(level=5),
        "lz4": LZ4(),
        "blosc": BloscCodec(cname="zstd"),
        "tricodec": TricodecCodec("LZ4", chunk_bytes=4096),
    }


@pytest.mark.parametrize("name", ["zstd", "gzip", "lz4", "blosc", "tricodec"])
@pytest.mark.parametrize("shards", [None, (96, 80, 12)], ids=["chunks", "shards"])
def test_a_store_is_read_to_the_gpu(name: str, shards: Any, tmp_path: Path) -> None:
    from tricodec.compress.zarr import use_for_standard_codecs

    stored = zarr.create_array(
        tmp_path / "a",
        shape=VALUES.shape,
        dtype="<i4",
        chunks=(32, 40, 12),
        compressors=codecs()[name],
        shards=shards,
        fill_value=7,
    )
    stored[:64] = VALUES[:64]  # without shards the last chunks are not there
    with use_for_standard_codecs(device="cuda"):
        array = zarr.open_array(tmp_path / "a", mode="r")
        whole, part = array[:], array[40:50, 3:9, 5]

    assert isinstance(whole, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(whole)[:64], VALUES[:64])
    assert (whole[64:] == 7).all()
    np.testing.assert_array_equal(cupy.asnumpy(part), VALUES[40:50, 3:9, 5])
    assert isinstance(zarr.open_array(tmp_path / "a", mode="r")[:], np.ndarray), "the block's end brings the CPU back"
