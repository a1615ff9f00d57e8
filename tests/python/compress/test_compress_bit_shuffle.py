# SPDX-License-Identifier: Apache-2.0
"""LZ4 with nvCOMP's bit shuffle: the layout against numpy's own bits, and the way back."""

from __future__ import annotations

import struct
from typing import Any

import lz4.block
import numpy as np
import pytest
import tricodec
from compress_data import corpus
from tricodec import nvcomp

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


@pytest.mark.parametrize("kind", list(nvcomp.BitstreamKind), ids=lambda kind: kind.name)
@pytest.mark.parametrize("mode", [MSB, LSB], ids=["msb", "lsb"])
@pytest.mark.parametrize("data_type", TYPES)
def test_shuffled_data_come_back(data_type: str, mode: nvcomp.BitshuffleMode, kind: nvcomp.BitstreamKind) -> None:
    shuffling = codec(mode, data_type, bitstream_kind=kind)
    datas = [corpus()[name][:size] for name in ("walk", "noise") for size in (0, 1, 100, 65535, 200001)]

    packed = shuffling.encode(datas)

    assert [bytes(array) for array in shuffling.decode(packed)] == datas


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
