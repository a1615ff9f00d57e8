# SPDX-License-Identifier: Apache-2.0
"""The models compress and decompress with KIND_GPU instances: the arrays of the CPU, on the GPU or on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from tricodec.triton.serve import Server
from triton_testing import connect, variants

pytestmark = [pytest.mark.needs_triton, pytest.mark.needs_gpu]

ALGORITHMS = ["LZ4", "Snappy", "Zstd", "Deflate", "Cascaded"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = variants(
        tmp_path_factory.mktemp("models"), "compress", pack={"isolation": "none"}, pack_apart={"workers": "1"}
    )
    variants(
        folder, "decompress", unpack={"isolation": "none", "trusted": "true"},
        unpack_apart={"workers": "1", "trusted": "true"}, careful={"workers": "1"},
    )  # fmt: skip
    with Server(folder, models=None, gpus=[0], ready_timeout_seconds=180) as started:
        yield started


def walk(dtype: str = "<i4") -> np.ndarray:
    return np.cumsum(np.random.default_rng(1).integers(-3, 4, (700, 500)), axis=1).astype(dtype)


@pytest.mark.parametrize("models", [("pack", "unpack"), ("pack_apart", "unpack_apart"), ("pack", "careful")], ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_arrays_come_back(server: Any, models: tuple[str, str], algorithm: str) -> None:
    array = walk()
    with connect(server.grpc_url) as client:
        packed = client.compress(array, algorithm=algorithm, model=models[0])
        restored = client.decompress(packed, dtype="int32", shape=(-1, 500), model=models[1])

    np.testing.assert_array_equal(restored, array)
    codec = tricodec.Codec(algorithm=algorithm, device="cpu")
    assert bytes(codec.decode(packed)) == array.tobytes()


def test_a_client_gets_arrays_in_memory_of_its_gpu(server: Any) -> None:
    pytest.importorskip("tritonclient.utils.cuda_shared_memory")
    array = walk("<f4")
    packed = np.asarray(tricodec.Codec(algorithm="Zstd", device="cpu").encode(array))
    with connect(server.grpc_url, cuda_device=0) as client:
        restored = client.decompress(packed, dtype="float32", shape=array.shape, model="unpack")

    assert isinstance(restored, tricodec.DeviceArray)
    np.testing.assert_array_equal(restored.numpy(), array)


def test_damaged_data_of_strangers_do_not_reach_the_gpu(server: Any) -> None:
    good = np.asarray(tricodec.Codec(algorithm="LZ4", device="cpu").encode(walk()))
    random = np.random.default_rng(6)
    with connect(server.grpc_url) as client:
        for _ in range(30):
            bad = good.copy()
            bad[random.integers(100, len(bad), 20)] ^= 0x55
            try:
                client.decompress(bad, model="careful")
            except tricodec.CorruptDataError:
                continue
        np.testing.assert_array_equal(client.decompress(good, dtype="<i4", model="careful"), walk().reshape(-1))
        np.testing.assert_array_equal(client.decompress(good, dtype="<i4", model="unpack"), walk().reshape(-1))
