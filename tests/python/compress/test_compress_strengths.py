# SPDX-License-Identifier: Apache-2.0
"""algorithm_type 2 beats zlib's level 1 and 4 its level 6 in chunks of 64 KiB, with the exceptions that tests name."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from compress_data import corpus, shared_files
from tricodec import nvcomp

CHUNK = 65536
STRENGTHS = [(2, 1), (4, 6)]

# Sizes over zlib's that are allowed where the document says so, by strength. GDeflate's lanes take some 200 bytes of
# each chunk.
EXCEPTIONS = {
    2: {"uwnd_mean.npy": 1.012, "A1B_air_temperature_80.npy": 1.008},
    4: {"weather_temp_f64.npy": 1.02},
}
LANES = {
    2: {"uwnd_mean.npy": 1.016, "A1B_air_temperature_80.npy": 1.012},
    4: {
        "weather_temp_f64.npy": 1.015,
        "html": 1.011,
        "ascent_u8.npy": 1.004,
        "effnet_lite0_w_f32.npy": 1.002,
        "ppocr_cls.onnx": 1.001,
    },
}


def chunks(data: bytes) -> list[bytes]:
    return [data[i : i + CHUNK] for i in range(0, min(len(data), 1 << 20), CHUNK)]


def ours(algorithm: str, strength: int, data: bytes) -> int:
    codec = nvcomp.Codec(algorithm=algorithm, algorithm_type=strength, bitstream_kind=nvcomp.RAW, device="cpu")
    pieces = chunks(data)
    packed = codec.encode(pieces)
    assert [bytes(array) for array in codec.decode(packed)] == pieces
    return sum(array.size for array in packed)


def zlibs(algorithm: str, level: int, data: bytes) -> int:
    total = 0
    for chunk in chunks(data):
        compressor = zlib.compressobj(level, zlib.DEFLATED, 31 if algorithm == "Gzip" else -15)
        total += len(compressor.compress(chunk) + compressor.flush())
    return total


@pytest.mark.parametrize("name", ["text", "walk", "runs"])
@pytest.mark.parametrize("algorithm", ["Deflate", "Gzip", "GDeflate"])
@pytest.mark.parametrize(("strength", "level"), STRENGTHS)
def test_documented_strengths_beat_zlib(algorithm: str, strength: int, level: int, name: str) -> None:
    data = corpus()[name][: 4 * CHUNK]

    assert ours(algorithm, strength, data) < zlibs(algorithm, level, data)


@pytest.mark.parametrize("path", shared_files(), ids=lambda path: path.name)
@pytest.mark.parametrize("algorithm", ["Deflate", "Gzip", "GDeflate"])
@pytest.mark.parametrize(("strength", "level"), STRENGTHS)
def test_documented_strengths_beat_zlib_on_each_file(algorithm: str, strength: int, level: int, path: Path) -> None:
    data = path.read_bytes()
    exceptions = (LANES if algorithm == "GDeflate" else EXCEPTIONS)[strength]

    assert ours(algorithm, strength, data) < exceptions.get(path.name, 1) * zlibs(algorithm, level, data)


def made(name: str) -> bytes:
    """Numbers that hardly repeat, of many kinds, eight chunks or a little less."""
    rng = np.random.default_rng(3)
    normal = rng.standard_normal(2 * CHUNK)
    y, x = np.mgrid[0:360, 0:360]
    temperatures = 280 + 20 * np.cos(y / 60) + 5 * np.sin(x / 17) + rng.normal(0, 0.3, x.shape)
    match name:
        case "float32 weights":
            values = (0.05 * normal).astype("<f4")
        case "float16 weights":
            values = (0.05 * normal).astype("<f2")
        case "bfloat16 weights":
            values = ((0.05 * normal).astype("<f4").view("<u4") >> 16).astype("<u2")
        case "int8 weights":
            values = np.clip(10 * rng.standard_normal(8 * CHUNK), -127, 127).astype("<i1")
        case "random integers":
            values = rng.integers(0, 100_000, 2 * CHUNK).astype("<i4")
        case "temperatures":
            values = temperatures.astype("<f4")
        case "temperatures in doubles":
            values = temperatures
        case "temperatures in hundredths":
            values = np.round(100 * temperatures).astype("<i2")
        case "thousandths":
            values = np.round(rng.normal(20, 8, 2 * CHUNK), 3).astype("<f4")
        case "random walk":
            values = np.cumsum(normal).astype("<f4")
        case "smooth picture":
            picture = 128 + 60 * np.sin(x / 30) + 40 * np.cos(y / 25) + rng.normal(0, 2, x.shape)
            values = np.clip(picture, 0, 255).astype("u1")
        case _:
            raise ValueError(name)
    return values.tobytes()


LITERALS = ["float32 weights", "float16 weights", "bfloat16 weights", "int8 weights", "random integers"]
# Many matches of three bytes, which libdeflate's level 3 does not take: sizes over zlib's level 1.
SHORT_MATCHES = {"temperatures": 1.0, "temperatures in doubles": 1.003, "temperatures in hundredths": 1.004, "thousandths": 1.033, "random walk": 1.0, "smooth picture": 1.034}  # fmt: skip  # noqa: E501


@pytest.mark.parametrize("name", LITERALS)
@pytest.mark.parametrize("algorithm", ["Deflate", "Gzip", "GDeflate"])
def test_weights_and_random_numbers_are_smaller_than_zlibs_level_1(algorithm: str, name: str) -> None:
    data = made(name)

    assert ours(algorithm, 2, data) < zlibs(algorithm, 1, data)


@pytest.mark.parametrize("name", SHORT_MATCHES)
@pytest.mark.parametrize("algorithm", ["Deflate", "Gzip", "GDeflate"])
def test_numbers_with_short_matches_cost_little_over_zlibs_level_1(algorithm: str, name: str) -> None:
    """The exception that the document names."""
    data = made(name)
    lanes = 0.006 if algorithm == "GDeflate" else 0

    assert ours(algorithm, 2, data) < (SHORT_MATCHES[name] + lanes) * zlibs(algorithm, 1, data)


@pytest.mark.parametrize("algorithm", ["Deflate", "Gzip", "GDeflate"])
def test_literals_alone_are_taken_where_matches_are_longer(algorithm: str) -> None:
    """Measured: 2.8 % smaller than zlib's level 1, 1.0 % with libdeflate's level 3; GDeflate 0.3 % less."""
    data = made("bfloat16 weights")

    assert ours(algorithm, 2, data) < 0.98 * zlibs(algorithm, 1, data)


@pytest.mark.parametrize("algorithm", ["Deflate", "Gzip", "GDeflate"])
def test_one_large_chunk_of_mixed_contents_comes_back(algorithm: str) -> None:
    data = corpus()["text"][:CHUNK] + made("float32 weights") + made("temperatures") + corpus()["runs"][: CHUNK + 1]
    codec = nvcomp.Codec(algorithm=algorithm, algorithm_type=2, bitstream_kind=nvcomp.RAW, device="cpu")

    packed = codec.encode(data)

    assert bytes(codec.decode(packed)) == data
    assert packed.size < len(data)


@pytest.mark.parametrize("algorithm", ["Deflate", "Gzip", "GDeflate"])
def test_few_matches_cost_little_over_zlibs_level_6(algorithm: str) -> None:
    """The exception that the document names: floats that hardly repeat."""
    rng = np.random.default_rng(7)
    data = rng.choice((7 * rng.standard_normal(10000)).astype("<f4"), CHUNK).tobytes()

    assert ours(algorithm, 4, data) < 1.01 * zlibs(algorithm, 6, data)
