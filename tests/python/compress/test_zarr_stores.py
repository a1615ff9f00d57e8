# SPDX-License-Identifier: Apache-2.0
"""Zarr stores that Zarr's own codecs wrote, read by tricodec: the same arrays, whole, in part, and from shards."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if sys.version_info < (3, 11):
    pytest.skip("Zarr 3 needs Python 3.11", allow_module_level=True)

import zarr
from tricodec.compress import zarr as ours
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
from zarr.codecs.numcodecs import LZ4

# Zarr warns that numcodecs.lz4 is not in its specification.
pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")

CODECS = {
    "zstd": lambda: ZstdCodec(level=3),
    "zstd-checksum": lambda: ZstdCodec(level=1, checksum=True),
    "gzip": lambda: GzipCodec(level=5),
    "lz4": lambda: LZ4(acceleration=1),
}
VALUES = np.cumsum(np.random.default_rng(1).integers(-5, 6, (96, 80, 12)), axis=0).astype("<i4")


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The algorithms of the chunks that tricodec decodes."""
    from tricodec.compress import _zarr_standard

    names: list[str] = []
    codec = _zarr_standard._codec

    def counted(algorithm: str, *words: Any) -> Any:
        names.append(algorithm)
        return codec(algorithm, *words)

    monkeypatch.setattr(_zarr_standard, "_codec", counted)
    return names


def written(folder: Path, codec: str, **words: Any) -> Path:
    """A store that Zarr's own codecs wrote."""
    array = zarr.create_array(
        folder, shape=VALUES.shape, dtype=VALUES.dtype, chunks=(32, 40, 12), compressors=CODECS[codec](), **words
    )
    array[:] = VALUES
    return folder


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("shards", [None, (96, 80, 12)], ids=["chunks", "shards"])
def test_a_store_is_read_as_zarr_reads_it(codec: str, shards: Any, tmp_path: Path, decoded: list[str]) -> None:
    store = written(tmp_path / "a", codec, shards=shards)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}

    with ours.use_for_standard_codecs():
        array = zarr.open_array(store, mode="r")
        np.testing.assert_array_equal(array[:], VALUES)
        num_chunks = len(decoded)
        np.testing.assert_array_equal(array[40:50, 3:9, 5], VALUES[40:50, 3:9, 5])

    assert num_chunks == 3 * 2
    assert len(decoded) == num_chunks + 1, "a part decodes the one chunk that has it"
    assert set(decoded) == {codec.partition("-")[0].capitalize() if codec != "lz4" else "LZ4"}
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before

    np.testing.assert_array_equal(zarr.open_array(store, mode="r")[:], VALUES)
    assert len(decoded) == num_chunks + 1, "after the block Zarr decodes by itself"


@pytest.mark.parametrize("inner", ["lz4", "lz4hc", "zstd", "zlib", "blosclz"])
@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
def test_blosc_is_read_by_zarrs_own_codec(inner: str, shuffle: str, tmp_path: Path, decoded: list[str]) -> None:
    blosc = BloscCodec(cname=inner, shuffle=shuffle)
    stores = {}
    for name, codecs in {"blosc": blosc, "both": [blosc, GzipCodec(level=1)]}.items():
        stores[name] = tmp_path / name
        zarr.create_array(
            stores[name], shape=VALUES.shape, dtype="<i4", chunks=(32, 40, 12), compressors=codecs, shards=VALUES.shape
        )[:] = VALUES
    with ours.use_for_standard_codecs():
        for store in stores.values():
            array = zarr.open_array(store, mode="r")
            np.testing.assert_array_equal(array[:], VALUES)
            np.testing.assert_array_equal(array[40:50, 3:9, 5], VALUES[40:50, 3:9, 5])
    assert decoded == ["Gzip"] * 7, "what gzip compressed again, tricodec decodes"


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:]),
        lambda data: gzip.compress(data) + bytes(8),
    ],
    ids=["two members", "zeros after the stream"],
)
def test_gzip_streams_of_other_programs_are_read(edit: Any, tmp_path: Path) -> None:
    store = written(tmp_path / "a", "gzip")
    for path in (store / "c").rglob("*"):
        if path.is_file():
            path.write_bytes(edit(gzip.decompress(path.read_bytes())))
    expected = zarr.open_array(store, mode="r")[:]

    with ours.use_for_standard_codecs():
        np.testing.assert_array_equal(zarr.open_array(store, mode="r")[:], expected)
    np.testing.assert_array_equal(expected, VALUES)


@pytest.mark.parametrize("codec", ["zstd-checksum", "gzip"])
def test_damaged_chunks_are_errors(codec: str, tmp_path: Path) -> None:
    store = written(tmp_path / "a", codec)
    path = next(path for path in (store / "c").rglob("*") if path.is_file())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(data)

    with ours.use_for_standard_codecs(), pytest.raises(Exception, match=r"(?i)zstd|crc|error|invalid|incorrect"):
        zarr.open_array(store, mode="r")[:]
