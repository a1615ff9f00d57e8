# SPDX-License-Identifier: Apache-2.0
"""Bytes that are made to do harm, or were changed at random, raise an error or give bytes."""

from __future__ import annotations

import functools
import os
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tricodec
from compress_data import ALGORITHMS, SPEC_6, as_version_6, corpus, mutate, whole
from programs import limits
from tricodec import nvcomp

SAFE = [algorithm for algorithm in ALGORITHMS if algorithm != "Bitcomp"]  # NVIDIA's decoder


HARMLESS = (tricodec.CorruptDataError, tricodec.RefusedError, tricodec.UnsupportedError, ValueError)


def sample(algorithm: str) -> bytes:
    return whole(algorithm, corpus()["walk"][:3000] + corpus()["text"][:2000])


def packed(algorithm: str, kind: nvcomp.BitstreamKind = nvcomp.NVCOMP_NATIVE) -> bytes:
    codec = nvcomp.Codec(algorithm=algorithm, bitstream_kind=kind, uncomp_chunk_size=2048)
    return bytes(codec.encode(sample(algorithm)))


@pytest.fixture
def small_limit() -> Iterator[None]:
    with limits(max_output_bytes=1 << 20):
        yield


# Field of the header: offset, format, and what it is set to.
FIELDS = [
    ("magic", 0, "<I", 0),
    ("major", 4, "<B", 4),
    ("algorithm", 6, "<B", 9),
    ("comp_data_size", 8, "<Q", (1 << 64) - 1),
    ("comp_data_size", 8, "<Q", 0),
    ("decomp_data_size", 16, "<Q", 0),
    ("decomp_data_size", 16, "<Q", (1 << 64) - 1),
    ("num_chunks", 24, "<Q", 0),
    ("num_chunks", 24, "<Q", 4),
    ("num_chunks", 24, "<Q", (1 << 64) - 1),
    ("uncomp_chunk_size", 48, "<Q", 0),
    ("uncomp_chunk_size", 48, "<Q", (1 << 64) - 1),
    ("comp_data_offset", 56, "<I", (1 << 32) - 1),
]


# The same of version 6, which has other places for its fields.
FIELDS_6 = [
    ("major", 4, "<B", 7),
    ("algorithm", 6, "<B", 9),
    ("comp_data_size", 8, "<Q", (1 << 64) - 1),
    ("decomp_data_size", 16, "<Q", 0),
    ("decomp_data_size", 16, "<Q", (1 << 64) - 1),
    ("num_chunks", 24, "<Q", (1 << 64) - 1),
    ("uncomp_chunk_size", 32, "<Q", (1 << 64) - 1),
    ("comp_data_offset", 40, "<I", (1 << 32) - 1),
    ("bitshuffle_mode", 60, "<I", 3),
    ("data_type", 56, "<I", 8),
]


@pytest.mark.parametrize(
    ("algorithm", "version", "field", "offset", "form", "value"),
    [(algorithm, 5, *field) for algorithm in ("LZ4", "Cascaded") for field in FIELDS]
    + [("LZ4", 6, *field) for field in FIELDS_6],
)
def test_a_header_that_lies_is_refused(
    algorithm: str, version: int, field: str, offset: int, form: str, value: int
) -> None:
    stream = bytearray(packed(algorithm) if version == 5 else as_version_6(packed(algorithm)))
    assert bytes(nvcomp.Codec().decode(bytes(stream))) == sample(algorithm)
    struct.pack_into(form, stream, offset, value)

    with pytest.raises(HARMLESS):
        nvcomp.Codec().decode(bytes(stream))


@pytest.mark.parametrize("value", [0, 1, 1 << 33, (1 << 64) - 1])
@pytest.mark.parametrize("column", [0, 1])
def test_a_chunk_table_that_lies_is_refused(column: int, value: int) -> None:
    stream = bytearray(packed("LZ4"))
    count, start = struct.unpack_from("<Q", stream, 24)[0], struct.unpack_from("<I", stream, 56)[0]
    struct.pack_into("<Q", stream, start - 16 * count + 8 * count * column + 8, value)

    with pytest.raises(HARMLESS):
        nvcomp.Codec().decode(bytes(stream))


@pytest.mark.parametrize("kind", list(nvcomp.BitstreamKind), ids=lambda kind: kind.name)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_stream_that_is_cut_off_is_refused(algorithm: str, kind: nvcomp.BitstreamKind) -> None:
    stream = packed(algorithm, kind)
    codec = nvcomp.Codec(algorithm=algorithm, bitstream_kind=kind, trusted=algorithm == "Bitcomp")
    original = bytes(codec.decode(stream))

    for length in [*range(min(120, len(stream))), *range(120, len(stream) - 8, 97)]:
        try:
            result = bytes(codec.decode(stream[:length]))
        except HARMLESS:
            continue
        # A raw stream without its size may end where another one would; it is never more than what there was.
        assert kind is nvcomp.RAW
        assert original.startswith(result)


@pytest.mark.usefixtures("small_limit")
def test_a_bomb_is_refused_before_memory_is_taken() -> None:
    bomb = bytes(nvcomp.Codec(algorithm="Zstd", bitstream_kind=nvcomp.RAW, level=19).encode(bytes(1 << 20)))
    codec = nvcomp.Codec(algorithm="Zstd", bitstream_kind=nvcomp.RAW)
    assert codec.decode(bomb).size == 1 << 20

    with pytest.raises(tricodec.RefusedError, match="max_output_bytes"):
        codec.decode([bomb, bomb])
    # The size before a frame may say anything.
    sized = nvcomp.Codec(algorithm="Zstd", bitstream_kind=nvcomp.WITH_UNCOMPRESSED_SIZE)
    with pytest.raises(tricodec.CorruptDataError, match="49 bytes of Zstd cannot hold 1125899906842624"):
        sized.decode(struct.pack("<Q", 1 << 50) + bomb)
    with pytest.raises(tricodec.CorruptDataError, match="declares 1048576 bytes, not 1048575"):
        sized.decode(struct.pack("<Q", (1 << 20) - 1) + bomb)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_impossible_ratio_is_refused(algorithm: str) -> None:
    stream = packed(algorithm, nvcomp.WITH_UNCOMPRESSED_SIZE)
    form = "<I" if algorithm == "LZ4" else "<Q"

    with pytest.raises(tricodec.CorruptDataError, match="cannot hold"):
        nvcomp.Codec(algorithm=algorithm, bitstream_kind=nvcomp.WITH_UNCOMPRESSED_SIZE).decode(
            struct.pack(form, 1 << 31) + stream[struct.calcsize(form) :]
        )


SLOW_BUFFERS = int(os.environ.get("TRICODEC_FUZZ_BUFFERS", "100000"))
SHUFFLES = [{"bitshuffle_mode": mode, "data_type": "<i4"} for mode in list(nvcomp.BitshuffleMode)[1:]]
STRENGTHS = [{"algorithm_type": strength} for strength in (0, 2, 4, 5)]

LAYERS = [
    {"num_rles": 0, "num_deltas": 2, "data_type": "|u1"},
    {"num_rles": 3, "num_deltas": 0, "data_type": "<u2"},
    {"num_rles": 7, "num_deltas": 3, "data_type": "<i8"},
    {"num_rles": 1, "num_deltas": 1, "use_bitpack": False, "data_type": "<i4"},
]


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "LZ4": [*SHUFFLES, {"level": 9}],
    "Snappy": [],
    "Zstd": [{"level": level} for level in (-5, 9, 19)],
    "Deflate": STRENGTHS,
    "Gzip": STRENGTHS,
    "GDeflate": STRENGTHS,
    "Cascaded": LAYERS,
}


@dataclass(frozen=True)
class Victim:
    """A stream that is to be damaged, what it holds, and its decoder."""

    data: bytes
    stream: bytes
    codec: nvcomp.Codec


@functools.cache
def victims(algorithm: str, kind: nvcomp.BitstreamKind, checksums: bool) -> list[Victim]:
    """Streams of some thousand bytes with each set of options, and of other sizes, kinds of data and containers."""
    policy = nvcomp.COMPUTE_AND_VERIFY if checksums else nvcomp.NO_COMPUTE_NO_VERIFY
    mixed = corpus()["walk"][:3000] + corpus()["text"][:2000]
    cases: list[tuple[bytes, int, dict[str, Any]]] = [(mixed, 2048, options) for options in [{}, *OPTIONS[algorithm]]]
    cases += [(corpus()["runs"][:size], 2048, {}) for size in (8, 104, 2048)]
    cases += [(corpus()["noise"][:4096], 1024, {}), (corpus()["zeros"][:50000], 65536, {})]
    cases += [(corpus()["text"][:70000], 65536, {})]
    found = []
    for contents, chunk_bytes, options in cases:
        words = {"algorithm": algorithm, "bitstream_kind": kind, "checksum_policy": policy, **options}
        made = nvcomp.Codec(uncomp_chunk_size=chunk_bytes, device="cpu", **words)
        reader = nvcomp.Codec(uncomp_chunk_size=chunk_bytes, trusted=False, num_threads=1, **words)
        data = contents[: len(contents) // 8 * 8]  # elements of any type
        stream = bytes(made.encode(data))
        found.append(Victim(data, stream, reader))
        if kind is nvcomp.NVCOMP_NATIVE and not checksums and not options and algorithm in SPEC_6:
            found.append(Victim(data, as_version_6(stream), reader))
    return found


def fuzz(algorithm: str, kind: nvcomp.BitstreamKind, count: int, seed: int, checksums: bool = False) -> Counter[str]:
    """Decodes damaged streams, as a server does: how many were refused, right (the damage hit nothing), or wrong."""
    rng = np.random.default_rng(seed)
    streams = victims(algorithm, kind, checksums)
    outcome = Counter[str]()
    for i in range(count):
        victim = streams[i % len(streams)]
        try:
            result = bytes(victim.codec.decode(mutate(victim.stream, rng)))
        except HARMLESS:
            outcome["refused"] += 1
        else:
            outcome["right" if result == victim.data else "wrong"] += 1
    return outcome


@pytest.mark.parametrize(
    "kind", [nvcomp.BitstreamKind.NVCOMP_NATIVE, nvcomp.BitstreamKind.RAW], ids=lambda kind: kind.name
)
@pytest.mark.parametrize("algorithm", SAFE)
def test_what_is_damaged_came_back_before(algorithm: str, kind: nvcomp.BitstreamKind) -> None:
    """Streams that were refused as they are would make the rest of this file empty."""
    for victim in victims(algorithm, kind, False):
        assert bytes(victim.codec.decode(victim.stream)) == victim.data


@pytest.mark.parametrize(
    "kind", [nvcomp.BitstreamKind.NVCOMP_NATIVE, nvcomp.BitstreamKind.RAW], ids=lambda kind: kind.name
)
@pytest.mark.parametrize("algorithm", SAFE)
@pytest.mark.usefixtures("small_limit")
def test_damaged_streams_raise_or_give_bytes(algorithm: str, kind: nvcomp.BitstreamKind) -> None:
    outcome = fuzz(algorithm, kind, 600, seed=1)

    assert outcome["refused"] > 150
    # A gzip member carries the size and the CRC of its data.
    assert algorithm != "Gzip" or outcome["wrong"] == 0


@pytest.mark.parametrize("algorithm", SAFE)
@pytest.mark.usefixtures("small_limit")
def test_checksums_let_no_wrong_byte_through(algorithm: str) -> None:
    outcome = fuzz(algorithm, nvcomp.NVCOMP_NATIVE, 600, seed=2, checksums=True)

    assert outcome["wrong"] == 0
    assert outcome["refused"] > 300


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", SAFE)
@pytest.mark.usefixtures("small_limit")
def test_a_hundred_thousand_damaged_streams_raise_or_give_bytes(algorithm: str) -> None:
    parts = [(kind, False) for kind in nvcomp.BitstreamKind] + [(nvcomp.NVCOMP_NATIVE, True)]
    for seed, (kind, checksums) in enumerate(parts):
        outcome = fuzz(algorithm, kind, SLOW_BUFFERS // len(parts), 100 + seed, checksums)
        print(f"{algorithm} {kind.name}{' with checksums' * checksums}: {outcome}")
        assert outcome["wrong"] == 0 or not (checksums or algorithm == "Gzip")
