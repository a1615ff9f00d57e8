# SPDX-License-Identifier: Apache-2.0
"""How a chunk of an array store is cut before it is compressed."""

from __future__ import annotations

from typing import Any

from tricodec.compress._codec import Codec

_CUT_BYTES = 65536
_MOST_BYTES = 1 << 24  # what nvCOMP takes
#: Algorithms that compress better in large pieces. The others look at some kilobytes at a time.
_WHOLE = ("zstd", "lz4", "snappy", "deflate", "gzip")


def codec_of(store: Any, num_bytes: int, trusted: bool | None) -> Codec:
    """The Codec of a codec of an array store, which has its options as fields, for so many bytes."""
    chunk_bytes = store.chunk_bytes
    if chunk_bytes is None:  # the whole of the data, up to 16 MiB
        whole = min(max(-(-num_bytes // 8) * 8, _CUT_BYTES), _MOST_BYTES)
        chunk_bytes = whole if store.algorithm.lower() in _WHOLE else _CUT_BYTES
    return Codec(
        algorithm=store.algorithm,
        uncomp_chunk_size=chunk_bytes,
        data_type=store.data_type,
        algorithm_type=store.algorithm_type,
        level=store.level,
        trusted=trusted,
        device="cpu",
    )
