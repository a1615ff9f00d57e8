# SPDX-License-Identifier: Apache-2.0
"""Damaged streams on a machine with a GPU: none costs the CUDA context. TRICODEC_GPU_FUZZ_BUFFERS says how many."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest
import tricodec
from compress_data import ALGORITHMS, corpus, mutate, whole
from tricodec import nvcomp

pytestmark = pytest.mark.needs_gpu

BUFFERS = int(os.environ.get("TRICODEC_GPU_FUZZ_BUFFERS", "5000"))
HARMLESS = (tricodec.CorruptDataError, tricodec.RefusedError, tricodec.UnsupportedError, ValueError)
CHUNK = 2048


def sample(algorithm: str) -> bytes:
    return whole(algorithm, corpus()["walk"][:3000] + corpus()["text"][:2000])


def made(algorithm: str) -> bytes:
    codec = nvcomp.Codec(algorithm=algorithm, device="cuda:0", uncomp_chunk_size=CHUNK)
    return bytes(codec.encode(sample(algorithm)).cpu())


def expect_context_alive(algorithm: str, stream: bytes) -> None:
    codec = nvcomp.Codec(algorithm=algorithm, device="cuda:0", uncomp_chunk_size=CHUNK)
    assert bytes(codec.decode(stream).cpu()) == sample(algorithm)
    assert bytes(codec.decode(codec.encode(sample(algorithm))).cpu()) == sample(algorithm)


@pytest.mark.parametrize("checksums", [False, True], ids=["", "checksums"])
@pytest.mark.parametrize("algorithm", [algorithm for algorithm in ALGORITHMS if algorithm != "Bitcomp"])
def test_damaged_streams_that_are_not_trusted_leave_the_context_alive(algorithm: str, checksums: bool) -> None:
    """From the GPU's memory, as a server gets them: they are decoded on the CPU, and what can tell damage does."""
    rng = np.random.default_rng(21)
    policy = nvcomp.COMPUTE_AND_VERIFY if checksums else nvcomp.NO_COMPUTE_NO_VERIFY
    if checksums:  # which only the CPU makes
        writer = nvcomp.Codec(algorithm=algorithm, device="cpu", uncomp_chunk_size=CHUNK, checksum_policy=policy)
        stream = bytes(writer.encode(sample(algorithm)))
    else:
        stream = made(algorithm)
    codec = nvcomp.Codec(trusted=False, num_threads=1, checksum_policy=policy)
    assert codec.engine == "cpu"
    refused = right = wrong = 0

    for _ in range(BUFFERS // 2):
        try:
            result = codec.decode(nvcomp.as_array(mutate(stream, rng)).cuda())
        except HARMLESS:
            refused += 1
            continue
        if bytes(result.cpu()) == sample(algorithm):
            right += 1
        else:
            wrong += 1

    assert refused > BUFFERS // 8
    assert refused + right + wrong == BUFFERS // 2
    # A gzip member carries the size and the CRC of its data, and tricodec's checksums those of every chunk.
    assert wrong == 0 or not (checksums or algorithm == "Gzip")
    expect_context_alive(algorithm, stream)


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "ANS"])
def test_tables_that_lie_never_reach_a_kernel(algorithm: str) -> None:
    """To the GPU's own decoder: damage that the header and the table show is found before any kernel is started.

    What says how the chunks are to be read (algorithm, options, sizes of what comes out) only the chunks themselves
    could prove wrong: such streams are for codecs with trusted=False.
    """
    rng = np.random.default_rng(22)
    stream = made(algorithm)
    (count,) = struct.unpack_from("<Q", stream, 24)
    (head,) = struct.unpack_from("<I", stream, 56)
    offsets = head - 16 * count
    places = [*range(6), *range(8, 16), *range(24, 33), *range(56, 60), *range(offsets, offsets + 8 * count)]
    codec = nvcomp.Codec(device="cuda:0")
    refused = 0

    for _ in range(BUFFERS):
        damaged = bytearray(stream)
        for at in rng.choice(places, int(rng.integers(1, 4))):
            damaged[at] = int(rng.integers(0, 256))
        try:
            assert bytes(codec.decode(bytes(damaged)).cpu()) == sample(algorithm)
        except HARMLESS:
            refused += 1

    assert refused > BUFFERS // 2
    expect_context_alive(algorithm, stream)
