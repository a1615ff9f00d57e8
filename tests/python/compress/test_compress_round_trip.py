# SPDX-License-Identifier: Apache-2.0
"""What is compressed comes back: every algorithm, bitstream kind, strength and size."""

from __future__ import annotations

import compress_data
import numpy as np
import pytest
import tricodec
from compress_data import ALGORITHMS, corpus, whole
from tricodec import nvcomp

SIZES = [0, 1, 100, 65535, 65536, 65537, (1 << 20) + 1]
KINDS = list(nvcomp.BitstreamKind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_size_comes_back(algorithm: str, kind: nvcomp.BitstreamKind) -> None:
    codec = nvcomp.Codec(algorithm=algorithm, bitstream_kind=kind)
    datas = [whole(algorithm, data[:size]) for name, data in corpus().items() if name != "noise" for size in SIZES[:-1]]
    datas += [whole(algorithm, corpus()["walk"]), whole(algorithm, corpus()["noise"][:200000])]

    packed = codec.encode(datas)
    unpacked = codec.decode(packed)

    assert [bytes(array) for array in unpacked] == datas
    assert [codec.get_uncomp_buffer_size(array) for array in packed] == [len(data) for data in datas]
    for array, data in zip(packed, datas, strict=True):
        assert array.size <= codec.get_max_comp_buffer_size(data)


@pytest.mark.parametrize("data_type", ["|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"])
@pytest.mark.parametrize("algorithm", ["Bitcomp", "Cascaded"])
def test_every_element_type_comes_back(algorithm: str, data_type: str) -> None:
    codec = nvcomp.Codec(algorithm=algorithm, data_type=data_type)
    rng = np.random.default_rng(3)
    values = [
        np.repeat(rng.integers(0, 100, 3000), 7).astype(data_type),
        np.cumsum(rng.integers(-2, 3, 9001)).astype(data_type),
        rng.integers(0, 256, 8 * 4096, dtype=np.uint8).view(data_type),
        np.array([np.iinfo(data_type).min, np.iinfo(data_type).max] * 900, data_type),
        np.zeros(1, data_type),
    ]

    unpacked = codec.decode(codec.encode(values), data_type)

    for array, value in zip(unpacked, values, strict=True):
        np.testing.assert_array_equal(np.asarray(array), value)


@pytest.mark.parametrize("use_bitpack", [True, False])
@pytest.mark.parametrize("num_deltas", range(4))
@pytest.mark.parametrize("num_rles", range(8))
def test_every_choice_of_layers_comes_back(num_rles: int, num_deltas: int, use_bitpack: bool) -> None:
    rng = np.random.default_rng(num_rles)
    for data_type in ("<u2", "<i8"):
        codec = nvcomp.Codec(
            algorithm="Cascaded", num_rles=num_rles, num_deltas=num_deltas, use_bitpack=use_bitpack, data_type=data_type
        )
        values = [
            np.repeat(rng.integers(0, 5, 900), rng.integers(1, 30, 900)).astype(data_type),
            np.arange(5000, dtype=data_type),
            np.full(4097, 9, data_type),
        ]

        unpacked = codec.decode(codec.encode(values), data_type)

        for array, value in zip(unpacked, values, strict=True):
            np.testing.assert_array_equal(np.asarray(array), value)


def test_cascaded_is_small_where_it_should_be() -> None:
    """Layers that do nothing would come back as well."""
    runs = np.repeat(np.arange(1000, dtype="<i4"), 100)

    ratio = runs.nbytes / nvcomp.Codec(algorithm="Cascaded").encode(runs).size

    assert ratio > 40


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("chunk_bytes", [8, 1000, 1 << 20])
def test_every_chunk_size_comes_back(algorithm: str, chunk_bytes: int) -> None:
    codec = nvcomp.Codec(algorithm=algorithm, uncomp_chunk_size=chunk_bytes)
    data = whole(algorithm, corpus()["walk"][: 3000 if chunk_bytes == 8 else 300000])

    packed = codec.encode(data)

    assert bytes(codec.decode(packed)) == data
    info = codec.inspect(packed)
    assert (info.chunk_bytes, info.num_chunks) == (chunk_bytes, -(-len(data) // chunk_bytes))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bytes_do_not_depend_on_the_threads(algorithm: str) -> None:
    data = whole(algorithm, corpus()["text"] + corpus()["walk"])

    one = bytes(nvcomp.Codec(algorithm=algorithm, num_threads=1).encode(data))

    assert bytes(nvcomp.Codec(algorithm=algorithm, num_threads=5).encode(data)) == one


@pytest.mark.parametrize(("algorithm", "level"), [("LZ4", 0), ("LZ4", 9), ("LZ4", 12), ("Zstd", -5), ("Zstd", 19)])
def test_levels_come_back(algorithm: str, level: int) -> None:
    data = corpus()["text"][:100000]
    codec = nvcomp.Codec(algorithm=algorithm, level=level)

    assert bytes(codec.decode(codec.encode(data))) == data


def test_ranges_are_the_bytes_of_the_whole() -> None:
    data = corpus()["walk"]
    codec = tricodec.Codec(algorithm="LZ4", uncomp_chunk_size=1000)
    packed = codec.encode(data)

    for start, stop in [(0, 0), (0, 1), (999, 1001), (1000, 2000), (1500, 7777), (0, len(data)), (len(data),) * 2]:
        assert bytes(codec.decode_range(packed, start, stop)) == data[start:stop]
    with pytest.raises(IndexError, match=str(len(data))):
        codec.decode_range(packed, 5, len(data) + 1)


def test_algorithms_are_listed_with_reasons() -> None:
    listed = tricodec.compress.compression_algorithms()

    assert sorted(listed) == sorted([*compress_data.ALGORITHMS, "ANS"])
    assert [name for name, reason in listed.items() if reason] == ["ANS"]
