# SPDX-License-Identifier: Apache-2.0
"""Streams are exchanged with others' tools, both ways, and with NVIDIA's own library for the CPU."""

from __future__ import annotations

import struct
import subprocess
import zlib
from pathlib import Path

import lz4.block
import nvcomp_cpu
import pytest
import snappy
import zstandard
from compress_data import ALGORITHMS, corpus, whole
from tricodec import nvcomp

RAW = nvcomp.RAW
SIZED = nvcomp.WITH_UNCOMPRESSED_SIZE
DATA = [data[:size] for data in corpus().values() for size in (1, 1000, 65536, 300000)]


def run(*command: str, data: bytes) -> bytes:
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def raw(algorithm: str, data: bytes, **options: object) -> bytes:
    return bytes(nvcomp.Codec(algorithm=algorithm, bitstream_kind=RAW, **options).encode(data))


def decoded(algorithm: str, stream: bytes) -> bytes:
    return bytes(nvcomp.Codec(algorithm=algorithm, bitstream_kind=RAW).decode(stream))


@pytest.mark.parametrize("data", DATA)
def test_lz4_blocks_snappy_streams_and_zstd_frames_are_those_of_their_libraries(data: bytes) -> None:
    assert lz4.block.decompress(raw("LZ4", data), uncompressed_size=len(data)) == data
    assert decoded("LZ4", lz4.block.compress(data, store_size=False)) == data
    with_size = nvcomp.Codec(algorithm="LZ4", bitstream_kind=SIZED)
    assert lz4.block.decompress(bytes(with_size.encode(data))) == data
    assert bytes(with_size.decode(lz4.block.compress(data))) == data
    assert snappy.uncompress(raw("Snappy", data)) == data
    assert decoded("Snappy", snappy.compress(data)) == data
    assert zstandard.ZstdDecompressor().decompress(raw("Zstd", data)) == data
    assert decoded("Zstd", zstandard.ZstdCompressor(level=7).compress(data)) == data


@pytest.mark.parametrize("strength", [0, 1, 2, 5])
@pytest.mark.parametrize("data", DATA)
def test_deflate_and_gzip_streams_are_zlibs(data: bytes, strength: int) -> None:
    assert zlib.decompress(raw("Deflate", data, algorithm_type=strength), wbits=-15) == data
    assert zlib.decompress(raw("Gzip", data, algorithm_type=strength), wbits=31) == data
    for wbits, algorithm in [(-15, "Deflate"), (31, "Gzip")]:
        compressor = zlib.compressobj(6, zlib.DEFLATED, wbits)
        assert decoded(algorithm, compressor.compress(data) + compressor.flush()) == data


def test_command_line_tools_read_and_write_our_streams(tmp_path: Path) -> None:
    data = corpus()["text"]

    assert run("zstd", "-dcq", data=raw("Zstd", data)) == data
    assert run("gzip", "-dc", data=raw("Gzip", data)) == data
    assert decoded("Zstd", run("zstd", "-cq", "-9", data=data)) == data  # from a pipe: a frame without its size
    assert decoded("Gzip", run("gzip", "-c", "-6", data=data)) == data
    named = tmp_path / "named.txt"  # a header with a name in it
    named.write_bytes(data)
    assert decoded("Gzip", run("gzip", "-c", str(named), data=b"")) == data
    # An LZ4 frame: a header of 7 bytes, one independent block, an end mark and no checksum.
    block = raw("LZ4", data[:65536])
    header = bytes([0x04, 0x22, 0x4D, 0x18, 0x60, 0x40])
    frame = header + header_checksum(header[4:]) + struct.pack("<I", len(block)) + block + bytes(4)
    assert run("lz4", "-dcq", data=frame) == data[:65536]


def header_checksum(descriptor: bytes) -> bytes:
    """The second byte of xxHash-32 of two bytes (github.com/Cyan4973/xxHash, doc/xxhash_spec.md)."""
    prime1, prime2, prime3, prime5 = 2654435761, 2246822519, 3266489917, 374761393
    value = prime5 + len(descriptor)
    for byte in descriptor:
        value = (value + byte * prime5) & 0xFFFFFFFF
        value = (((value << 11) | (value >> 21)) & 0xFFFFFFFF) * prime1 & 0xFFFFFFFF
    value = (value ^ (value >> 15)) * prime2 & 0xFFFFFFFF
    value = (value ^ (value >> 13)) * prime3 & 0xFFFFFFFF
    return bytes([(value ^ (value >> 16)) >> 8 & 0xFF])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_sized_stream_is_a_raw_one_behind_its_size(algorithm: str) -> None:
    data = whole(algorithm, corpus()["runs"][:50001])
    sized = bytes(nvcomp.Codec(algorithm=algorithm, bitstream_kind=SIZED).encode(data))

    header = struct.pack("<I" if algorithm == "LZ4" else "<Q", len(data))

    assert sized == header + raw(algorithm, data)


@pytest.mark.parametrize("strength", [0, 1, 4, 5])
@pytest.mark.parametrize("data", [d[:65536] for d in DATA if len(d) <= 65536])
def test_gdeflate_pages_are_nvidias(data: bytes, strength: int) -> None:
    assert nvcomp_cpu.gdeflate_decompress(raw("GDeflate", data, algorithm_type=strength), len(data)) == data
    for level in (0, 1, 6, 12):
        assert decoded("GDeflate", nvcomp_cpu.gdeflate_compress(data, level)) == data


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_container_is_laid_out_as_documented(algorithm: str) -> None:
    data = whole(algorithm, corpus()["walk"][:200001])
    stream = bytes(nvcomp.Codec(algorithm=algorithm).encode(data))
    codec = nvcomp.Codec(algorithm=algorithm, bitstream_kind=RAW)

    magic, major, minor, number, _, size, total, count = struct.unpack_from("<IBBBBQQQ", stream)
    chunk, start = struct.unpack_from("<QI", stream, 48)
    table = start - 16 * count

    names = ["LZ4", "Snappy", "ANS", "GDeflate", "Cascaded", "Bitcomp", "Zstd", "Deflate", "Gzip"]
    assert (magic, major, minor, names[number]) == (0x52911326, 5, 3, algorithm)
    assert (total, chunk, count) == (len(data), 65536, 4)
    assert table == (88 if algorithm == "Cascaded" else 72)
    assert start + size == len(stream)
    offsets = struct.unpack_from(f"<{count}Q", stream, table)
    sizes = struct.unpack_from(f"<{count}Q", stream, table + 8 * count)
    expected = 0
    for i, (offset, length) in enumerate(zip(offsets, sizes, strict=True)):
        assert offset == expected
        expected = (offset + length + 7) // 8 * 8
        piece = data[i * 65536 : (i + 1) * 65536]
        assert bytes(codec.decode(stream[start + offset : start + offset + length])) == piece


def test_checksums_are_behind_the_container() -> None:
    data = corpus()["text"][:200001]
    plain = bytes(nvcomp.Codec(algorithm="LZ4").encode(data))
    codec = nvcomp.Codec(algorithm="LZ4", checksum_policy=nvcomp.COMPUTE_AND_VERIFY)

    stream = bytes(codec.encode(data))

    assert stream.startswith(plain)
    assert bytes(codec.decode(stream)) == data
