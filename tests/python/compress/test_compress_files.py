# SPDX-License-Identifier: Apache-2.0
"""The command line, numcodecs and zarr: files and arrays come back, and what is chosen is told."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from compress_data import corpus
from tricodec.cli import main


@pytest.mark.parametrize(
    "algorithm", ["auto", "lz4", "snappy", "zstd", "deflate", "gzip", "gdeflate", "bitcomp", "cascaded"]
)
@pytest.mark.parametrize("size", [0, 300001])
def test_files_come_back(algorithm: str, size: int, tmp_path: Path) -> None:
    source = tmp_path / "data.bin"
    source.write_bytes(corpus()["text"][:size])

    assert main(["compress", str(source), "--algorithm", algorithm]) == 0
    source.rename(tmp_path / "original")
    assert main(["decompress", str(tmp_path / "data.bin.tcz")]) == 0

    assert source.read_bytes() == corpus()["text"][:size]


@pytest.mark.parametrize("dtype", ["<i2", "<f4"])
@pytest.mark.parametrize("algorithm", ["auto", "cascaded", "bitcomp"])
def test_npy_files_come_back(algorithm: str, dtype: str, tmp_path: Path) -> None:
    values = np.repeat(np.arange(3001), 7).reshape(7, -1).astype(dtype)
    path = tmp_path / "a.npy"
    np.save(path, values)

    assert main(["compress", str(path), "--algorithm", algorithm, "-o", str(tmp_path / "p")]) == 0
    assert main(["decompress", str(tmp_path / "p"), "-o", str(tmp_path / "b.npy")]) == 0

    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values)


def test_a_file_without_the_suffix_is_decompressed_with_o_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_bytes(b"hello ")

    assert main(["decompress", str(tmp_path / "a")]) == 1
    assert "with -o" in capsys.readouterr().err


def test_numcodecs_round_trip() -> None:
    from tricodec.compress.numcodecs import Tricodec

    values = np.arange(10000, dtype="<i4").reshape(100, 100)
    codec = Tricodec("Cascaded", data_type="<i4")
    packed = codec.encode(values)

    assert len(packed) < values.nbytes / 4
    assert codec.decode(packed).tobytes() == values.tobytes()
    out = np.empty_like(values)
    codec.decode(packed, out=out)
    np.testing.assert_array_equal(out, values)
    config = codec.get_config()
    assert config["id"] == "tricodec"
    del config["id"]
    assert Tricodec(**config).decode(packed).tobytes() == values.tobytes()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Zarr 3 needs Python 3.11")
def test_zarr_arrays_come_back(tmp_path: Path) -> None:
    import zarr
    from numcodecs.registry import register_codec as register_numcodec
    from tricodec.compress.numcodecs import Tricodec
    from tricodec.compress.zarr import TricodecCodec
    from zarr.registry import register_codec

    # What the entry points do where the package is installed.
    register_codec("tricodec", TricodecCodec)
    register_numcodec(Tricodec)
    values = np.repeat(np.arange(900, dtype="<i4"), 10).reshape(90, 100)
    for version, codec in [(3, TricodecCodec(algorithm="LZ4")), (2, Tricodec("LZ4"))]:
        store = tmp_path / f"v{version}"
        array = zarr.create_array(
            store, shape=values.shape, chunks=(30, 50), dtype="i4", zarr_format=version, compressors=codec
        )
        array[:] = values

        np.testing.assert_array_equal(zarr.open_array(store, mode="r")[:], values)
        assert sum(path.stat().st_size for path in store.rglob("*") if path.is_file()) < values.nbytes / 2
