# SPDX-License-Identifier: Apache-2.0
"""The models compress and decompress on a real tritonserver give what tricodec.Codec gives."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from compress_data import corpus
from tricodec.compress import ChecksumPolicy
from tricodec.triton.serve import Server
from triton_testing import infer, variants, workers

pytestmark = pytest.mark.needs_triton

MOST_INPUT = 20_000_000
PACK = {"compress": {"workers": "2", "max_input_bytes": str(MOST_INPUT)}}
UNPACK = {
    "decompress": {"workers": "2"},
    "strict": {"workers": "1", "timeout_ms": "700", "max_input_bytes": "2000000", "max_output_bytes": "2000000"},
    "floats": {"workers": "1"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(tmp_path_factory.mktemp("repository"), "compress", **PACK)
    variants(repository, "decompress", **UNPACK)
    # As for an ensemble with a next model that takes float32 pictures.
    config = repository / "floats" / "config.pbtxt"
    bytes_output = '{ name: "ARRAY" data_type: TYPE_UINT8 dims: [ -1 ] }'
    assert bytes_output in config.read_text()
    typed = '{ name: "ARRAY" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] }'
    config.write_text(config.read_text().replace(bytes_output, typed))
    with Server(repository, None, ready_timeout_seconds=180) as started:
        yield started


def codec(algorithm: str, **options: Any) -> tricodec.Codec:
    return tricodec.Codec(algorithm=algorithm, device="cpu", **options)


def packed(array: Any, algorithm: str = "Zstd") -> np.ndarray:
    return np.asarray(codec(algorithm).encode(array))


@pytest.mark.parametrize("dtype", ["|b1", "<f2", "<f4", "<c8"])
@pytest.mark.parametrize("shape", [(0, 7), (600, 700)], ids=str)
def test_arrays_keep_dtype_and_shape(client: Any, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(4).integers(0, 2, shape).astype(dtype)

    answer = client.compress(array, algorithm="Zstd", header=True)
    restored = client.decompress(answer, header=True)

    assert answer.tobytes() == bytes(codec("Zstd").encode_npy(array))
    assert (restored.dtype, restored.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(restored, array)


def test_large_arrays_come_back(client: Any) -> None:
    array = np.cumsum(np.random.default_rng(5).integers(-3, 4, (2000, 1500)), axis=1).astype("<i4")

    answer = client.compress(array, algorithm="LZ4")
    restored = client.decompress(answer, dtype="int32", shape=(-1, 1500))

    assert answer.tobytes() == bytes(codec("LZ4").encode(array))
    np.testing.assert_array_equal(restored, array)


def test_plain_requests_say_dtype_and_shape(server: Any) -> None:
    array = np.arange(600, dtype="<f4").reshape(20, 30)
    file = io.BytesIO()
    np.save(file, array)

    sent = {"COMPRESSED": packed(file.getvalue())[None], "HEADER": np.array([[True]])}
    answer = infer(server.grpc_url, sent, model="decompress")

    assert answer["DTYPE"].tolist() == [[b"float32"]]
    assert answer["SHAPE"].tolist() == [[20, 30]]
    assert answer["ARRAY"].tobytes() == array.tobytes()


def test_damaged_data_are_refused_and_the_server_lives(client: Any, server: Any) -> None:
    good = np.asarray(codec("LZ4", checksum_policy=ChecksumPolicy.COMPUTE_AND_NO_VERIFY).encode(corpus()["text"]))
    random = np.random.default_rng(11)
    before = workers(server.pid)
    refused = 0
    for _ in range(60):
        bad = good.copy()
        bad[random.integers(0, len(bad), random.integers(1, 30))] ^= random.integers(1, 256, dtype=np.uint8)
        bad = bad[: random.integers(1, len(bad) + 1)] if random.integers(0, 2) else bad
        try:
            restored = client.decompress(bad, checksum_policy="COMPUTE_AND_VERIFY", model="strict")
        except (tricodec.CorruptDataError, tricodec.RefusedError, tricodec.UnsupportedError):
            refused += 1
        else:
            assert restored.tobytes() == corpus()["text"]
    assert refused > 40
    assert client.decompress(good, model="strict").tobytes() == corpus()["text"]
    assert workers(server.pid) == before  # no worker had to be replaced


def test_an_expansion_past_the_limit_is_refused(client: Any) -> None:
    bomb = packed(bytes(2_000_001))
    assert bomb.size < 10_000

    with pytest.raises(tricodec.RefusedError, match=r"2000001 bytes.*max_output_bytes"):
        client.decompress(bomb, model="strict")
    assert client.decompress(packed(bytes(2_000_000)), model="strict").size == 2_000_000


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ({"dtype": "float32", "shape": [7, -1]}, ValueError, r"they do not fill SHAPE \[7, -1\]"),
        ({"dtype": "O"}, ValueError, "DTYPE: 'O' is not a dtype of numbers"),
        ({"header": True}, tricodec.CorruptDataError, "do not begin with a readable .npy header"),
        (
            {"bitstream_kind": "framed"},
            ValueError,
            "BITSTREAM_KIND: 'framed' is not accepted; use one of NVCOMP_NATIVE",
        ),
        ({"algorithm": "LZMA"}, ValueError, 'Unknown algorithm: "LZMA"'),
        ({"window": 3}, TypeError, "decompress has no option 'window'; accepted: algorithm"),
    ],
    ids=str,
)
def test_requests_that_are_not_accepted_name_the_reason(
    client: Any, words: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        client.decompress(packed(np.arange(101, dtype="<i4")), **words)
