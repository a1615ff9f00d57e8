# SPDX-License-Identifier: Apache-2.0
"""How a chunk of an array store is cut before it is compressed."""

from __future__ import annotations

from typing import Any

from tricodec.compress._codec import Codec

_CUT_BYTES = 65536
_MOST_BYTES = 1 << 24  # what nvCOMP takes
#: Algorithms that compress better in large pieces. The others look at some kilobytes at a time.
_WHOLE = ("zstd", "lz4", "snappy", "deflate", "gzip")


def chunk_bytes_of(chunk_bytes: int | None, algorithm: str, num_bytes: int) -> int:
    """The uncompressed bytes of a chunk of the container.

    Args:
        chunk_bytes: what the user asked for; None is the whole of the data, up to 16 MiB.
        algorithm: as in `Codec`.
        num_bytes: of the data.
    """
    if chunk_bytes is not None:
        return chunk_bytes
    if algorithm.lower() not in _WHOLE:
        return _CUT_BYTES
    return min(max(-(-num_bytes // 8) * 8, _CUT_BYTES), _MOST_BYTES)


def codec_of(store: Any, num_bytes: int, trusted: bool | None) -> Codec:
    """The Codec of a codec of an array store, which has its options as fields, for so many bytes."""
    return Codec(
        algorithm=store.algorithm,
        uncomp_chunk_size=chunk_bytes_of(store.chunk_bytes, store.algorithm, num_bytes),
        data_type=store.data_type,
        algorithm_type=store.algorithm_type,
        level=store.level,
        trusted=trusted,
        device="cpu",
    )
