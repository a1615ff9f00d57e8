# SPDX-License-Identifier: Apache-2.0
"""Damaged streams raise an error or give bytes: streams of several options, sizes and containers, changed at random."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tricodec
from compress_data import ALGORITHMS, SPEC_6, as_version_6, available, corpus, mutate
from programs import limits
from tricodec import nvcomp

HARMLESS = (tricodec.CorruptDataError, tricodec.RefusedError, tricodec.UnsupportedError, ValueError)
SLOW_BUFFERS = int(os.environ.get("TRICODEC_FUZZ_BUFFERS", "100000"))

SHUFFLES = [{"bitshuffle_mode": mode, "data_type": "<i4"} for mode in list(nvcomp.BitshuffleMode)[1:]]
STRENGTHS = [{"algorithm_type": strength} for strength in (0, 2, 4, 5)]
LAYERS = [
    {"num_rles": 0, "num_deltas": 2, "data_type": "|u1"},
    {"num_rles": 3, "num_deltas": 0, "data_type": "<u2"},
    {"num_rles": 7, "num_deltas": 3, "data_type": "<i8"},
    {"num_rles": 1, "num_deltas": 1, "use_bitpack": False, "data_type": "<i4"},
]
ELEMENTS = [{"data_type": name} for name in ("|i1", "<u2", "<i4", "<u8")] + [{"algorithm_type": 1, "data_type": "<u4"}]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "LZ4": [*SHUFFLES, {"level": 9}],
    "Snappy": [],
    "Zstd": [{"level": level} for level in (-5, 9, 19)],
    "Deflate": STRENGTHS,
    "Gzip": STRENGTHS,
    "GDeflate": STRENGTHS,
    "Bitcomp": ELEMENTS,
    "Cascaded": LAYERS,
}


@pytest.fixture
def small_limit() -> Iterator[None]:
    with limits(max_output_bytes=1 << 20):
        yield


@dataclass(frozen=True)
class Victim:
    """A stream that is to be damaged, what it holds, and its decoder."""

    data: bytes
    stream: bytes
    codec: nvcomp.Codec


@dataclass
class Outcome:
    """What became of damaged streams."""

    refused: int = 0
    right: int = 0  # the damage hit nothing that is read
    wrong: int = 0


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
    for whole, chunk_bytes, options in cases:
        words = {"algorithm": algorithm, "bitstream_kind": kind, "checksum_policy": policy, **options}
        made = nvcomp.Codec(uncomp_chunk_size=chunk_bytes, device="cpu", **words)
        reader = nvcomp.Codec(uncomp_chunk_size=chunk_bytes, trusted=False, num_threads=1, **words)
        data = whole[: len(whole) // 8 * 8]  # elements of any type
        stream = bytes(made.encode(data))
        found.append(Victim(data, stream, reader))
        if kind is nvcomp.NVCOMP_NATIVE and not checksums and not options and algorithm in SPEC_6:
            found.append(Victim(data, as_version_6(stream), reader))
    return found


def fuzz(algorithm: str, kind: nvcomp.BitstreamKind, count: int, seed: int, checksums: bool = False) -> Outcome:
    """Decodes damaged streams, as a server does."""
    rng = np.random.default_rng(seed)
    streams = victims(algorithm, kind, checksums)
    outcome = Outcome()
    for i in range(count):
        victim = streams[i % len(streams)]
        try:
            result = bytes(victim.codec.decode(mutate(victim.stream, rng)))
        except HARMLESS:
            outcome.refused += 1
            continue
        if result == victim.data:
            outcome.right += 1
        else:
            outcome.wrong += 1
    return outcome


@pytest.mark.parametrize(
    "kind", [nvcomp.BitstreamKind.NVCOMP_NATIVE, nvcomp.BitstreamKind.RAW], ids=lambda kind: kind.name
)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_damaged_came_back_before(algorithm: str, kind: nvcomp.BitstreamKind) -> None:
    """Streams that were refused as they are would make the rest of this file empty."""
    available(algorithm)

    for victim in victims(algorithm, kind, False):
        assert bytes(victim.codec.decode(victim.stream)) == victim.data


@pytest.mark.parametrize(
    "kind", [nvcomp.BitstreamKind.NVCOMP_NATIVE, nvcomp.BitstreamKind.RAW], ids=lambda kind: kind.name
)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_damaged_streams_raise_or_give_bytes(algorithm: str, kind: nvcomp.BitstreamKind, small_limit: None) -> None:
    available(algorithm)
    del small_limit
    count = 60 if algorithm == "Bitcomp" else 600  # each of Bitcomp's is decoded in a process of its own

    outcome = fuzz(algorithm, kind, count, seed=1)

    assert outcome.refused > count // 4
    # A gzip member carries the size and the CRC of its data.
    assert algorithm != "Gzip" or outcome.wrong == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_checksums_let_no_wrong_byte_through(algorithm: str, small_limit: None) -> None:
    available(algorithm)
    del small_limit
    count = 40 if algorithm == "Bitcomp" else 600

    outcome = fuzz(algorithm, nvcomp.NVCOMP_NATIVE, count, seed=2, checksums=True)

    assert outcome.wrong == 0
    assert outcome.refused > count // 2


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_hundred_thousand_damaged_streams_raise_or_give_bytes(algorithm: str, small_limit: None) -> None:
    available(algorithm)
    del small_limit
    parts = [(kind, False) for kind in nvcomp.BitstreamKind] + [(nvcomp.NVCOMP_NATIVE, True)]
    for seed, (kind, checksums) in enumerate(parts):
        outcome = fuzz(algorithm, kind, SLOW_BUFFERS // len(parts), 100 + seed, checksums)
        print(f"{algorithm} {kind.name}{' with checksums' * checksums}: {outcome}")
        assert outcome.wrong == 0 or not (checksums or algorithm == "Gzip")
