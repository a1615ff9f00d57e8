# SPDX-License-Identifier: Apache-2.0
"""The same array and settings give the same compressed bytes behind every door, and every door reads the others'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from compress_data import ALGORITHMS, available, corpus, whole
from dali_testing import constant_source

pytestmark = [pytest.mark.needs_dali, pytest.mark.needs_triton]

SETTINGS: dict[str, dict[str, Any]] = {name: {"algorithm": name} for name in ALGORITHMS} | {
    "zstd_19": {"algorithm": "Zstd", "level": 19, "uncomp_chunk_size": 1 << 17},
    "lz4_raw": {"algorithm": "LZ4", "bitstream_kind": "RAW"},
    "lz4_sized": {"algorithm": "LZ4", "bitstream_kind": "WITH_UNCOMPRESSED_SIZE"},
    "lz4_12_in_small_chunks": {"algorithm": "LZ4", "level": 12, "uncomp_chunk_size": 4096},
    "gzip_small": {"algorithm": "Gzip", "algorithm_type": 5},
    "gzip_fast": {"algorithm": "Gzip", "algorithm_type": 0},
    "deflate_small": {"algorithm": "Deflate", "algorithm_type": 5, "uncomp_chunk_size": 8192},
    "snappy_raw": {"algorithm": "Snappy", "bitstream_kind": "RAW"},
    "cascaded_16": {"algorithm": "Cascaded", "data_type": "<i2", "num_rles": 1, "num_deltas": 2, "use_bitpack": False},
    "lz4_shuffled": {"algorithm": "LZ4", "data_type": "<i4", "bitshuffle_mode": "NVCOMP_BITSHUFFLE_MSB_FIRST"},
    "lz4_shuffled_raw": {
        "algorithm": "LZ4",
        "data_type": "<u2",
        "bitshuffle_mode": "NVCOMP_BITSHUFFLE_LSB_FIRST",
        "bitstream_kind": "RAW",
    },
    "checked": {"algorithm": "Snappy", "checksum_policy": "COMPUTE_AND_NO_VERIFY"},
}


@pytest.fixture(scope="module")
def triton() -> Iterator[Any]:
    from tricodec.client import Client
    from tricodec.serve import Server

    with (
        Server(models=["compress", "decompress"], ready_timeout_seconds=180) as server,
        Client(server.grpc_url) as client,
    ):
        yield client


def by_dali(operator: str, array: np.ndarray, **arguments: Any) -> np.ndarray:
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=1, num_threads=2, device_id=None)
    with pipe:
        arrays = fn.external_source(source=constant_source([array]), batch=True)
        pipe.set_outputs(getattr(fn.tricodec, operator)(arrays, **arguments))
    pipe.build()
    return np.array(pipe.run()[0].at(0))


def by_python(settings: dict[str, Any]) -> tricodec.Codec:
    words = dict(settings)
    if "bitstream_kind" in words:
        words["bitstream_kind"] = tricodec.compress.BitstreamKind[words["bitstream_kind"]]
    if "checksum_policy" in words:
        words["checksum_policy"] = tricodec.compress.ChecksumPolicy[words["checksum_policy"]]
    if "bitshuffle_mode" in words:
        words["bitshuffle_mode"] = tricodec.compress.BitshuffleMode[words["bitshuffle_mode"]]
    return tricodec.Codec(device="cpu", **words)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_door_writes_the_same_bytes_and_reads_them(triton: Any, name: str) -> None:
    settings = SETTINGS[name]
    available(settings["algorithm"])
    data = whole("Cascaded", corpus()["walk"][: 1 << 19])
    array = np.frombuffer(data, "<i4").reshape(-1, 64).copy()

    expected = bytes(by_python(settings).encode(array))
    assert by_dali("compress", array, **settings).tobytes() == expected
    assert triton.compress(array, **settings).tobytes() == expected

    words = ("algorithm", "bitstream_kind", "data_type", "bitshuffle_mode")
    reading = {key: settings[key] for key in words if key in settings}
    packed = np.frombuffer(expected, np.uint8).copy()
    assert by_dali("decompress", packed, **reading).tobytes() == array.tobytes()
    assert triton.decompress(packed, **reading).tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["|u1", "<f2", "<i8", "|b1"])
def test_every_door_writes_the_same_header_and_reads_it(triton: Any, dtype: str) -> None:
    array = np.random.default_rng(8).integers(0, 2, (17, 3, 29)).astype(dtype)
    codec = tricodec.Codec(algorithm="Zstd", device="cpu")

    expected = bytes(codec.encode_npy(array))
    assert by_dali("compress", array, algorithm="Zstd", header=True).tobytes() == expected
    assert triton.compress(array, algorithm="Zstd", header=True).tobytes() == expected

    packed = np.frombuffer(expected, np.uint8).copy()
    for answer in (
        codec.decode_npy(packed), by_dali("decompress", packed, header=True), triton.decompress(packed, header=True)
    ):  # fmt: skip
        assert (answer.dtype, answer.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(answer, array)
