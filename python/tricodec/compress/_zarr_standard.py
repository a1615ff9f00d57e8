# SPDX-License-Identifier: Apache-2.0
"""Zarr's own codecs, decoded by tricodec: stores that are there are read as they are."""

from __future__ import annotations

import asyncio
import functools
import math
import os
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from zarr import config
from zarr.codecs import GzipCodec as _GzipCodec
from zarr.codecs import ZstdCodec as _ZstdCodec
from zarr.codecs.numcodecs import LZ4 as _LZ4Codec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer
from zarr.core.buffer.cpu import as_numpy_array_wrapper
from zarr.registry import register_codec

from tricodec.compress._codec import Codec, DecompressConfig
from tricodec.compress._enums import BitstreamKind
from tricodec.compress._zarr_gpu import GPU_CONFIG, DecodesOnGpu, buffer_of, is_on_gpu
from tricodec.errors import CorruptDataError

#: A member of gzip: ten bytes at least, the deflated data, a CRC and the size of the data.
_GZIP_BYTES = 18


@functools.cache
def _codec(algorithm: str | None, kind: BitstreamKind, _process: int) -> Codec:
    # Zarr decodes chunks on its own threads.
    return Codec(algorithm=algorithm, bitstream_kind=kind, device="cpu", num_threads=1)


class _Decodes(DecodesOnGpu):
    """Decodes chunks. Data that are not one whole stream go to the codec of numcodecs, as do damaged ones."""

    #: The attribute with the codec of numcodecs.
    _numcodecs: ClassVar[str]
    #: Elements of a chunk that takes less time to decode than to hand to another thread.
    _small_chunk: ClassVar[int] = 8192

    async def decode(self, chunks_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]) -> Iterable[Buffer | None]:
        chunks = list(chunks_and_specs)
        chunk, spec = chunks[0] if len(chunks) == 1 else (None, None)
        if chunk is None or is_on_gpu(spec):
            return await super().decode(chunks)
        return [await self._decode_single(chunk, spec)]  # Zarr's batch of one, without a task for it

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        if math.prod(chunk_spec.shape) <= self._small_chunk:
            return self._decode_sync(chunk_bytes, chunk_spec)
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        packed = chunk_bytes.as_numpy_array()
        codec = _codec(*self._stream, os.getpid())
        try:
            data = np.asarray(codec.decode(packed, decompression_config=self._config_of(packed)))
        except CorruptDataError:
            decode = getattr(self, self._numcodecs).decode
            return as_numpy_array_wrapper(decode, chunk_bytes, chunk_spec.prototype)
        return buffer_of(data, chunk_spec)

    def _config_of(self, _packed: Any) -> DecompressConfig | None:
        """The size of the data, where that saves a first pass over them."""
        return None


class ZstdCodec(_Decodes, _ZstdCodec):  # type: ignore[misc]  # taken as untyped
    """Zarr's ``zstd``, decoded by tricodec. Thread safety: safe."""

    _stream = "Zstd", BitstreamKind.RAW
    _numcodecs = "_zstd_codec"


class GzipCodec(_Decodes, _GzipCodec):  # type: ignore[misc]  # taken as untyped
    """Zarr's ``gzip``, decoded by tricodec. Thread safety: safe."""

    _stream = "Gzip", BitstreamKind.RAW
    _numcodecs = "_gzip_codec"
    _host_bytes = 1 << 20

    def _config_of(self, packed: Any) -> DecompressConfig | None:
        if packed.size < _GZIP_BYTES:
            return None
        return DecompressConfig((int.from_bytes(packed[-4:].tobytes(), "little"),))


class LZ4Codec(_Decodes, _LZ4Codec):  # type: ignore[misc]  # taken as untyped
    """``numcodecs.lz4``, decoded by tricodec. Thread safety: safe."""

    _stream = "LZ4", BitstreamKind.WITH_UNCOMPRESSED_SIZE
    _numcodecs = "_codec"
    _small_chunk = 65536


_STANDARD: dict[str, type] = {"zstd": ZstdCodec, "gzip": GzipCodec, "numcodecs.lz4": LZ4Codec}


def use_for_standard_codecs(device: str = "cpu") -> Any:
    """Let Zarr decode ``zstd``, ``gzip`` and ``numcodecs.lz4`` by tricodec, in this process.

        tricodec.compress.zarr.use_for_standard_codecs()
        array = zarr.open_array("store.zarr")

    Stores stay as they are, and so do their bytes: encoding is Zarr's own. Shards and reads of a part work as before,
    since a shard decodes its inner chunks by the same codecs. Arrays that are open keep their codecs.

    Args:
        device: "cpu"; or "cuda", where arrays are CuPy's. Zarr's buffers are then on the GPU
            (``zarr.config.enable_gpu()``), which gets compressed bytes and decodes many chunks at once.

    Returns:
        What ``zarr.config.set`` returns: used in a ``with`` block, its end brings Zarr's own codecs back.

    Raises:
        ValueError: for another device.

    Thread safety: as ``zarr.config.set``.
    """
    if device not in ("cpu", "cuda"):
        raise ValueError(f"device is {device!r}; accepted are 'cpu', and 'cuda' for the GPU that CuPy uses")
    for name, cls in _STANDARD.items():
        register_codec(name, cls)
    names = {name: f"{cls.__module__}.{cls.__qualname__}" for name, cls in _STANDARD.items()}
    codecs = {**config.get("codecs"), **names}  # a name with a dot cannot be set alone
    return config.set({"codecs": codecs, **(GPU_CONFIG if device == "cuda" else {})})
