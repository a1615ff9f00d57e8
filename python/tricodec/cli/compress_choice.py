# SPDX-License-Identifier: Apache-2.0
"""Which algorithm suits data: tried out on a sample."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.lib import format as npy_format

from tricodec.compress import Codec, compression_algorithms

SAMPLE_PIECES = 8
PIECE_BYTES = 1 << 18
_CLOSE = 1.03  # ratios this close count as equal: then the faster one is better
_STORED = 1.02  # below this nothing is gained, and the fastest will do


@dataclass(frozen=True)
class Choice:
    """An algorithm for some data, and why."""

    algorithm: str
    data_type: str | None
    text: str = ""


def element_type(data: memoryview) -> str | None:
    """The integer type of as many bytes as an element of a .npy file has; None for other files.

    Header and elements of such a file are whole numbers of elements, as the header is padded to 64 bytes.
    """
    import io

    try:
        stream = io.BytesIO(data[: 1 << 16])
        version = npy_format.read_magic(stream)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        dtype = read(stream)[2]
    except ValueError:
        return None
    if dtype.kind not in "iufb" or dtype.itemsize > 8 or len(data) % dtype.itemsize:
        return None
    signed = "i" if dtype.kind == "i" else "u"
    return f"{'|' if dtype.itemsize == 1 else '<'}{signed}{dtype.itemsize}"


def sample_of(data: memoryview) -> list[memoryview]:
    """Pieces from all over the data, on multiples of 8 bytes and of whole 8 bytes."""
    whole = len(data) // 8 * 8
    if whole <= SAMPLE_PIECES * PIECE_BYTES:
        return [data[:whole]]
    starts = np.linspace(0, whole - PIECE_BYTES, SAMPLE_PIECES).astype(int) // 8 * 8
    return [data[start : start + PIECE_BYTES] for start in starts]


def choose(data: memoryview, data_type: str | None) -> Choice:
    """Tries each algorithm on a sample and takes the one with the best ratio; the faster one if ratios are close."""
    pieces = sample_of(data)
    total = sum(len(piece) for piece in pieces)
    if total == 0:
        return Choice("lz4", data_type, "LZ4: there is nothing to sample")
    found: list[tuple[float, float, str]] = []
    for name, reason in compression_algorithms().items():
        typed = name in ("Bitcomp", "Cascaded")
        # Gzip is Deflate in a frame; GDeflate is Deflate for GPUs.
        if reason or name in ("Gzip", "GDeflate") or (typed and data_type is None):
            continue
        codec = Codec(algorithm=name, data_type=data_type if typed else None, device="cpu")
        start = time.perf_counter()
        packed = codec.encode(pieces)
        seconds = time.perf_counter() - start
        found.append((total / sum(array.size for array in packed), total / max(seconds, 1e-9), name))
    best = max(ratio for ratio, _, _ in found)
    close = [entry for entry in found if entry[0] * _CLOSE >= best or best < _STORED]
    ratio, _, name = max(close, key=lambda entry: entry[1])
    others = ", ".join(f"{other} {value:.2f}" for value, _, other in sorted(found, reverse=True) if other != name)
    return Choice(name.lower(), data_type, f"{name}: ratio {ratio:.2f} on {total} bytes sampled ({others})")
