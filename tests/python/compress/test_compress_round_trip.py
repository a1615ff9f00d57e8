# SPDX-License-Identifier: Apache-2.0
"""What is compressed comes back: every algorithm, bitstream kind and size, on the engine that is asked for."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import compress_data
import lz4.block
import numpy as np
import pytest
import tricodec
from compress_data import ALGORITHMS, corpus, whole
from gpu_helpers import Run, build_fake_nvcomp, runner_with_driver
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


MSB, LSB = nvcomp.BitshuffleMode.NVCOMP_BITSHUFFLE_MSB_FIRST, nvcomp.BitshuffleMode.NVCOMP_BITSHUFFLE_LSB_FIRST
TYPES = ["|i1", "<u2", "<i4"]


def codec(mode: nvcomp.BitshuffleMode, data_type: str, **options: Any) -> nvcomp.Codec:
    return nvcomp.Codec(algorithm="LZ4", bitshuffle_mode=mode, data_type=data_type, device="cpu", **options)


def shuffled(data: bytes, item_bytes: int, mode: nvcomp.BitshuffleMode) -> bytes:
    """Each 8 KiB: a row of bits for each bit of an element, eight elements a byte; then what makes no eight."""
    parts = []
    for start in range(0, len(data), 8192):
        part = data[start : start + 8192]
        whole = len(part) // (8 * item_bytes) * 8 * item_bytes
        elements = np.frombuffer(part[:whole], np.uint8).reshape(-1, item_bytes)
        rows = np.unpackbits(elements, axis=1, bitorder="little").T
        parts.append(
            np.packbits(rows if mode is LSB else rows[::-1], axis=1, bitorder="little").tobytes() + part[whole:]
        )
    return b"".join(parts)


@pytest.mark.parametrize("mode", [MSB, LSB], ids=["msb", "lsb"])
@pytest.mark.parametrize("data_type", TYPES)
def test_what_lz4_sees_are_the_bits_side_by_side(data_type: str, mode: nvcomp.BitshuffleMode) -> None:
    for size in (1, 63, 64, 1000, 8191, 8192, 8193, 30001):
        data = corpus()["walk"][:size]

        block = bytes(codec(mode, data_type, bitstream_kind=nvcomp.RAW).encode(data))

        expected = shuffled(data, np.dtype(data_type).itemsize, mode)
        assert lz4.block.decompress(block, uncompressed_size=size) == expected


@pytest.mark.parametrize("mode", [MSB, LSB], ids=["msb", "lsb"])
@pytest.mark.parametrize("data_type", TYPES)
def test_the_container_tells_of_it(data_type: str, mode: nvcomp.BitshuffleMode) -> None:
    data = corpus()["walk"][:100000]
    numbers = {"|i1": 0, "|u1": 1, "<i2": 2, "<u2": 3, "<i4": 4, "<u4": 5}  # of nvcompType_t

    packed = bytes(codec(mode, data_type).encode(data))

    # As nvCOMP 5.3 writes it: 0x40000004 for <i4 with the highest bit first, 0x80000004 with the lowest.
    assert struct.unpack_from("<I", packed, 64)[0] == numbers[data_type] | int(mode) << 30
    for other in (nvcomp.Codec(device="cpu"), nvcomp.Codec(algorithm="LZ4", device="cpu"), codec(MSB, "<u2")):
        assert bytes(other.decode(packed)) == data
    assert bytes(codec(mode, data_type).decode(nvcomp.Codec(algorithm="LZ4", device="cpu").encode(data))) == data


def container_of_version_6(data: bytes, data_type: str, mode: int, word: int) -> bytes:
    """As nvCOMP 6's formatSpec.hpp has it: a word of the data type, one of bitshuffle_mode, four bytes of zeros."""
    numbers = {"|i1": 0, "|u1": 1, "<i2": 2, "<u2": 3, "<i4": 4, "<u4": 5}
    chunks = []
    for start in range(0, len(data), 20000):
        chunk = data[start : start + 20000]
        if mode:
            chunk = shuffled(chunk, np.dtype(data_type).itemsize, nvcomp.BitshuffleMode(mode))
        chunks.append(lz4.block.compress(chunk, store_size=False))
    offsets = np.cumsum([0, *(-(-len(chunk) // 8) * 8 for chunk in chunks)])
    body = b"".join(chunk + bytes(-len(chunk) % 8) for chunk in chunks)
    count, start = len(chunks), 72 + 16 * len(chunks)
    head = struct.pack("<IBBBBQQQQI", 0x52911327, 6, 0, 0, 0, len(body), len(data), count, 20000, start)
    head += struct.pack("<IIBBBB", 0, 0, 1, 0, 0, 0) + struct.pack("<II4x", numbers[data_type], word)
    table = struct.pack(f"<{count}Q", *offsets[:-1]) + struct.pack(f"<{count}Q", *map(len, chunks))
    return head.ljust(72, b"\0") + table + body


@pytest.mark.parametrize("mode", [0, MSB, LSB], ids=["none", "msb", "lsb"])
@pytest.mark.parametrize("data_type", TYPES)
def test_containers_of_version_6_tell_of_it_in_a_word_of_its_own(data_type: str, mode: int) -> None:
    data = corpus()["walk"][:100_003]
    packed = container_of_version_6(data, data_type, int(mode), int(mode))

    for reader in (nvcomp.Codec(device="cpu"), nvcomp.Codec(algorithm="LZ4", device="cpu"), codec(LSB, "<u2")):
        assert bytes(reader.decode(packed)) == data
    assert tricodec.Codec(device="cpu").inspect(packed).container_version == 6


_PRELUDE = """
import logging
import tricodec

def codec(environment=None, **words):
    os.environ.pop("TRICODEC_DEVICE", None)
    if environment is not None:
        os.environ["TRICODEC_DEVICE"] = environment
    return tricodec.Codec(algorithm="LZ4", **words)

def told(**words):
    # The lines of the log while a codec is made, by level.
    lines = []
    class Listener(logging.Handler):
        def emit(self, record):
            lines.append((record.levelname, record.getMessage()))
    logger, listener = logging.getLogger("tricodec"), Listener()
    level = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    try:
        codec(**words)
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
    return lines
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("driver")
    library = str(build_fake_nvcomp(folder))
    with runner_with_driver(
        folder, _PRELUDE, FAKE_CUDA_GPUS="2", TRICODEC_LIBNVCOMP=library, FAKE_NVCOMP_LOG=str(folder / "nvcomp")
    ) as started:
        yield started


@pytest.mark.needs_kernels
@pytest.mark.parametrize(
    ("environment", "words", "engine"),
    [
        (None, {}, "cuda:0"),
        (None, {"device": "auto:1"}, "cuda:1"),
        (None, {"device": "auto:7"}, "cpu"),
        (None, {"device": "cuda:1"}, "cuda:1"),
        (None, {"device_id": 7}, "cpu"),
        (None, {"device_id": 1, "device": "cuda"}, "cuda:1"),
        ("cpu", {}, "cpu"),
        ("cpu", {"device": "auto:1"}, "cuda:1"),
        ("auto:1", {}, "cuda:1"),
        ("cuda:1", {"device_id": 0}, "cuda:0"),
        ("cuda", {"device": "cpu"}, "cpu"),
    ],
)
def test_a_codec_works_where_the_argument_else_the_environment_says(
    run: Run, environment: str | None, words: dict[str, object], engine: str
) -> None:
    run(f"assert codec({environment!r}, **{words!r}).engine == {engine!r}, codec({environment!r}, **{words!r}).engine")


@pytest.mark.needs_kernels
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("level=3", "level is an option"),
        ("checksum_policy=tricodec.nvcomp.COMPUTE_AND_VERIFY", "checksums are computed"),
        ("trusted=False", "not trusted"),
        ("device_id=7", "no GPU 7"),
    ],
)
def test_what_a_demanded_gpu_cannot_do_is_an_error_that_names_who_demands_it(run: Run, word: str, reason: str) -> None:
    run(f"""
    import tricodec.nvcomp
    error = raised(lambda: codec("cuda", {word}))
    assert isinstance(error, tricodec.DeviceError) and {reason!r} in str(error), error
    for part in ("TRICODEC_DEVICE=cuda", "device='cpu'", "TRICODEC_DEVICE=auto"):
        assert part in str(error), error
    error = raised(lambda: codec("auto", device="cuda", {word}))
    assert isinstance(error, tricodec.DeviceError) and "TRICODEC_DEVICE" not in str(error), error
    """)


@pytest.mark.needs_kernels
@pytest.mark.parametrize(
    ("words", "reason"),
    [("level=3", "level is an option"), ("device='auto:7'", "no GPU 7"), ("environment='auto:7'", "no GPU 7")],
)
def test_one_line_of_the_log_says_why_the_cpu_works_in_a_gpus_place(run: Run, words: str, reason: str) -> None:
    run(f"""
    lines = told({words})
    assert len(lines) == 1 and lines[0][0] == "INFO" and {reason!r} in lines[0][1] and "not cuda:" in lines[0][1], lines
    assert told(device="cpu") == told(environment="cpu") == told() == []
    """)
