# SPDX-License-Identifier: Apache-2.0
"""Zarr 3: its own codecs decoded by tricodec, and a codec ``tricodec``, found by its entry point.

tricodec.compress.zarr.use_for_standard_codecs()
zarr.create_array(..., compressors=tricodec.compress.zarr.TricodecCodec(algorithm="LZ4"))
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field

import numpy as np
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer
from zarr.core.common import JSON, parse_named_configuration

from tricodec.compress._enums import BitstreamKind
from tricodec.compress._options import without_trust
from tricodec.compress._zarr_gpu import DecodesOnGpu, buffer_of
from tricodec.compress.numcodecs import codec_of

try:
    from tricodec.compress._zarr_standard import GzipCodec, LZ4Codec, ZstdCodec, use_for_standard_codecs
except ImportError:  # Zarr before 3.1.3
    __all__ = ["TricodecCodec"]
else:
    __all__ = ["GzipCodec", "LZ4Codec", "TricodecCodec", "ZstdCodec", "use_for_standard_codecs"]


@dataclass(frozen=True)
class TricodecCodec(DecodesOnGpu):
    """Compresses chunks in nvCOMP's container. The fields are those of `tricodec.compress.numcodecs.Tricodec`.

    Chunks in the memory of a GPU (``zarr.config.enable_gpu()``) are decoded there, unless `trusted` is False.

    Thread safety: safe.
    """

    is_fixed_size = False
    _stream = None, BitstreamKind.NVCOMP_NATIVE

    algorithm: str = "Zstd"
    chunk_bytes: int | None = None
    data_type: str | None = None
    algorithm_type: int | None = None
    level: int | None = None
    trusted: bool | None = field(default=None, compare=False)  # decided by the reader: not stored with the array

    @classmethod
    def from_dict(cls, data: dict[str, JSON]) -> TricodecCodec:
        """From an array's metadata, where trusted=True is a ValueError."""
        _, configuration = parse_named_configuration(data, "tricodec", require_configuration=False)
        return cls(**without_trust(configuration or {}))

    def to_dict(self) -> dict[str, JSON]:
        """For an array's metadata."""
        kept = {k: v for k, v in asdict(self).items() if v is not None and k != "trusted"}
        return {"name": "tricodec", "configuration": kept}

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        decode = codec_of(self, 0, self.trusted).decode
        return buffer_of(np.asarray(await asyncio.to_thread(decode, chunk_bytes.as_numpy_array())), chunk_spec)

    async def _encode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer | None:
        data = chunk_bytes.as_numpy_array()
        encode = codec_of(self, data.nbytes, self.trusted).encode
        return buffer_of(np.asarray(await asyncio.to_thread(encode, data)), chunk_spec)

    def compute_encoded_size(self, _input_byte_length: int, _chunk_spec: ArraySpec) -> int:
        """The size is not known beforehand."""
        raise ValueError("compressed sizes are not known beforehand")
