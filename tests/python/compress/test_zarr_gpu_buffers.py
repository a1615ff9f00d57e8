# SPDX-License-Identifier: Apache-2.0
"""Zarr's buffers on a GPU, with arrays in host memory that stand in for CuPy's: what is decoded together, and where."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if sys.version_info < (3, 11):
    pytest.skip("Zarr 3 needs Python 3.11", allow_module_level=True)

import zarr
from tricodec.compress import _zarr_gpu
from tricodec.compress import zarr as ours
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
from zarr.codecs.numcodecs import LZ4

# Zarr warns of numcodecs.lz4, and of arrays that are not really on a GPU.
pytestmark = [
    pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning"),
    pytest.mark.filterwarnings("ignore:Creating a zarr.buffer.gpu"),
]

VALUES = np.cumsum(np.random.default_rng(1).integers(-5, 6, (96, 80)), axis=0).astype("<i4")
CODECS: dict[str, Callable[[], Any]] = {
    "zstd": ZstdCodec,
    "gzip": GzipCodec,
    "lz4": LZ4,
    "tricodec": lambda: ours.TricodecCodec("LZ4", chunk_bytes=4096),
}


class _Array(np.ndarray):
    """An array of CuPy, as far as Zarr and the codecs use one."""

    @property
    def device(self) -> Any:
        return types.SimpleNamespace(id=0)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of chunks that were decoded by one call, with CuPy replaced."""

    def made_by(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *values, **words: function(*values, **words).view(_Array)

    cupy = types.ModuleType("cupy")
    for name in ("asarray", "asanyarray", "array", "empty", "full", "zeros", "frombuffer", "concatenate"):
        setattr(cupy, name, made_by(getattr(np, name)))
    vars(cupy).update(ndarray=_Array, asnumpy=lambda array: np.asarray(array).view(np.ndarray))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr("zarr.core.buffer.gpu.cp", cupy)

    sizes: list[int] = []
    decode = _zarr_gpu.DecodesOnGpu._decode_there

    def counted(*arguments: Any) -> Any:
        sizes.append(len(arguments[-1]))
        return decode(*arguments)

    monkeypatch.setattr(_zarr_gpu.DecodesOnGpu, "_decode_there", counted)
    return sizes


def written(folder: Path, codec: Any, **words: Any) -> Path:
    array = zarr.create_array(folder, shape=VALUES.shape, dtype="<i4", chunks=(16, 40), compressors=codec, **words)
    array[:] = VALUES
    return folder


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("shards", [None, (96, 80)], ids=["chunks", "shards"])
def test_the_chunks_of_a_read_are_decoded_together(name: str, shards: Any, tmp_path: Path, batches: list[int]) -> None:
    store = written(tmp_path / "a", CODECS[name](), shards=shards)
    with ours.use_for_standard_codecs(device="cuda"):
        array = zarr.open_array(store, mode="r")
        whole, part = array[:], array[20:40, 3:9]

    assert isinstance(whole, _Array)
    np.testing.assert_array_equal(whole, VALUES)
    np.testing.assert_array_equal(part, VALUES[20:40, 3:9])
    assert batches == [12, 2]


def test_a_damaged_chunk_is_the_error_that_it_is_on_the_cpu(tmp_path: Path, batches: list[int]) -> None:
    store = written(tmp_path / "a", GzipCodec())
    path = store / "c/1/0"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(data)
    with ours.use_for_standard_codecs(device="cuda"), pytest.raises(Exception, match=r"(?i)crc|error|invalid"):
        zarr.open_array(store, mode="r")[:]
    assert batches == [12]


def test_other_codecs_decode_on_the_cpu(tmp_path: Path, batches: list[int]) -> None:
    store = written(tmp_path / "a", BloscCodec())
    with ours.use_for_standard_codecs(device="cuda"):
        np.testing.assert_array_equal(zarr.open_array(store, mode="r")[:], VALUES)
    assert batches == []
