# SPDX-License-Identifier: Apache-2.0
"""Data of several kinds for the tests of compression, made from fixed seeds."""

from __future__ import annotations

import functools
import struct

import numpy as np
import pytest
import tricodec

ALGORITHMS = ["LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "Cascaded"]
# Where an algorithm's elements have more than one byte by default, sizes are cut to whole ones.
ITEM_BYTES = {"Cascaded": 4}


@functools.cache
def corpus() -> dict[str, bytes]:
    """Name to a little over 1 MiB."""
    rng = np.random.default_rng(7)
    size = (1 << 20) + 1
    words = rng.choice(np.array([b"codec", b"frame", b"chunk", b"packet", b"surface", b"a", b"of"]), size // 3)
    walk = np.cumsum(rng.integers(-3, 4, size // 4 + 1)).astype("<i4")
    runs = np.repeat(rng.integers(0, 9, size // 40), rng.integers(1, 20, size // 40)).astype("<i4")
    return {
        "text": b" ".join(words.tolist())[:size],
        "walk": walk.tobytes()[:size],
        "runs": runs.tobytes()[:size],
        "noise": rng.integers(0, 256, size, dtype=np.uint8).tobytes(),
        "zeros": bytes(size),
    }


def whole(algorithm: str, data: bytes) -> bytes:
    """Data cut to whole elements of the algorithm."""
    item = ITEM_BYTES.get(algorithm, 1)
    return data[: len(data) // item * item]


# The algorithms' options as containers of version 6 have them, for what Codec makes unless told otherwise.
SPEC_6 = {
    "LZ4": bytes(12),
    "Snappy": bytes(4),
    "Zstd": bytes(4),
    "Deflate": struct.pack("<i4x", 1),
    "GDeflate": struct.pack("<i4x", 1),
    "Gzip": struct.pack("<i4x", 1),
    "Bitcomp": struct.pack("<iIdI4x", 0, 1, 0.0, 0),
}


def as_version_6(stream: bytes, spec: bytes | None = None) -> bytes:
    """A container of version 5 with its fields where version 6 has them; `spec` is the algorithm's options there."""
    number = stream[6]
    names = ["LZ4", "Snappy", "ANS", "GDeflate", "Cascaded", "Bitcomp", "Zstd", "Deflate", "Gzip"]
    size, total, count = struct.unpack_from("<QQQ", stream, 8)
    chunk, start = struct.unpack_from("<QI", stream, 48)
    head = struct.pack("<IBBBBQQQQI", 0x52911327, 6, 0, number, 0, size, total, count, chunk, 0)
    head += struct.pack("<IIBBBB", 0, 0, 1, 0, 0, 0) + (SPEC_6[names[number]] if spec is None else spec)
    head += bytes(-len(head) % 8)
    moved = len(head) + 16 * count
    head = head[:40] + struct.pack("<I", moved) + head[44:]
    return head + stream[start - 16 * count :]


def available(algorithm: str) -> None:
    """Skips the test where the CPU cannot do the algorithm here: Bitcomp needs NVIDIA's library."""
    names = {name.lower(): reason for name, reason in tricodec.compress.compression_algorithms().items()}
    if names[algorithm.lower()]:
        pytest.skip(names[algorithm.lower()])


def mutate(stream: bytes, rng: np.random.Generator) -> bytes:
    """One to four changes: a bit, a byte, a word, a run copied elsewhere, a cut."""
    damaged = bytearray(stream)
    for _ in range(rng.integers(1, 5)):
        if not damaged:
            break
        at = int(rng.integers(0, len(damaged)))
        match int(rng.integers(0, 5)):
            case 0:
                damaged[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                damaged[at] = int(rng.integers(0, 256))
            case 2:
                word = int(rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 255, 65536]))
                damaged[at : at + 4] = struct.pack("<I", word)[: len(damaged) - at]
            case 3:
                run = damaged[at : at + int(rng.integers(1, 40))]
                to = int(rng.integers(0, len(damaged)))
                damaged[to : to + len(run)] = run
            case _:
                del damaged[at + 1 :]
    return bytes(damaged)
