# SPDX-License-Identifier: Apache-2.0
"""A codec of numcodecs (Zarr 2, HDF5, Kerchunk): ``tricodec``, found by its entry point.

zarr.create_array(..., zarr_format=2, compressors=tricodec.compress.numcodecs.Tricodec("Zstd"))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numcodecs.abc import Codec as _Codec
from numcodecs.compat import ensure_contiguous_ndarray, ndarray_copy

from tricodec.compress._codec import Codec
from tricodec.compress._options import without_trust

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


@dataclasses.dataclass(eq=False, repr=False)
class Tricodec(_Codec):  # type: ignore[misc]  # numcodecs has no types
    """Compresses buffers in nvCOMP's container.

    Args:
        algorithm: as in `tricodec.Codec`.
        chunk_bytes: uncompressed bytes of a chunk of the container. None is all of a buffer, up to 16 MiB, which gives
            the best ratio. With less, such as 65536, several cores or a GPU work on one buffer.
        data_type: array protocol string of the elements, for Bitcomp and Cascaded.
        algorithm_type: strength of Deflate, Gzip and GDeflate, kind of Bitcomp.
        level: of LZ4 and Zstd.
        trusted: False for data from strangers, as in `tricodec.Codec`; if absent, the value of TRICODEC_TRUSTED.
            The reader decides it, so it is not stored with the data.

    Thread safety: safe.
    """

    codec_id: ClassVar[str] = "tricodec"

    algorithm: str = "Zstd"
    chunk_bytes: int | None = None
    data_type: str | None = None
    algorithm_type: int | None = None
    level: int | None = None
    trusted: dataclasses.InitVar[bool | None] = None

    def __post_init__(self, trusted: bool | None) -> None:
        self._trusted = trusted
        self._codec = codec_of(self, 0, trusted)  # finds wrong options now, and decodes

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Tricodec:
        """From the configuration that is stored with an array. One with trusted=True is a ValueError."""
        return cls(**without_trust(config))

    def encode(self, buf: Any) -> bytes:
        """The compressed bytes of a buffer."""
        data = ensure_contiguous_ndarray(buf)
        return bytes(codec_of(self, data.nbytes, self._trusted).encode(data))

    def decode(self, buf: Any, out: Any = None) -> Any:
        """The bytes of a compressed buffer, in ``out`` if it is given."""
        result = np.asarray(self._codec.decode(ensure_contiguous_ndarray(buf)))
        return ndarray_copy(result, out)
