# SPDX-License-Identifier: Apache-2.0
"""Zarr's buffers on a GPU (``zarr.config.enable_gpu()``): all chunks of a batch are decoded there by one call."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Iterable
from typing import Any, ClassVar

from zarr.abc.codec import BytesBytesCodec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer, gpu

from tricodec.compress._codec import Codec
from tricodec.compress._enums import BitstreamKind
from tricodec.errors import CorruptDataError

#: What lets Zarr read into the memory of a GPU. By itself it hands over one chunk at a time.
GPU_CONFIG = {
    "buffer": "zarr.buffer.gpu.Buffer",
    "ndbuffer": "zarr.buffer.gpu.NDBuffer",
    "codec_pipeline.batch_size": 128,
}


class DecodesOnGpu(BytesBytesCodec):  # type: ignore[misc]  # taken as untyped
    """Decodes chunks in the memory of a GPU there. Other chunks, and damaged ones, go to the next class."""

    #: The algorithm, None for that of the container.
    _stream: ClassVar[tuple[str | None, BitstreamKind]]
    #: Bytes of a chunk from which on the CPU is faster: a GPU decodes a stream of gzip by a few threads.
    _host_bytes: ClassVar[float] = math.inf
    trusted: bool | None = None

    async def decode(self, chunks_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]) -> Iterable[Buffer | None]:
        """The bytes of chunks, in their order."""
        chunks = list(chunks_and_specs)
        there = [(chunk.as_array_like(), spec) for chunk, spec in chunks if chunk is not None and is_on_gpu(spec)]
        if there and _num_bytes(there[0][1]) < self._host_bytes:
            try:
                decoded = iter(await asyncio.to_thread(self._decode_there, there))
            except CorruptDataError:  # the next class finds out which
                pass
            else:
                return [None if chunk is None else next(decoded) for chunk, _ in chunks]
        otherwise: Iterable[Buffer | None] = await super().decode(chunks)
        return otherwise

    def _decode_there(self, chunks: list[tuple[Any, ArraySpec]]) -> list[Buffer]:
        import cupy

        codec = _codec(*self._stream, self.trusted, chunks[0][0].device.id)
        decoded = codec.decode([array for array, _ in chunks])
        return [
            spec.prototype.buffer.from_array_like(cupy.asarray(data))
            for data, (_, spec) in zip(decoded, chunks, strict=True)
        ]


def buffer_of(data: Any, spec: ArraySpec) -> Buffer:
    """A buffer where Zarr wants it, of bytes in host memory."""
    kind = spec.prototype.buffer
    return kind.from_bytes(memoryview(data)) if is_on_gpu(spec) else kind.from_array_like(data)


def is_on_gpu(spec: ArraySpec) -> bool:
    """Whether Zarr wants the bytes of a chunk in the memory of a GPU."""
    return issubclass(spec.prototype.buffer, gpu.Buffer)


def _num_bytes(spec: ArraySpec) -> int:
    return int(math.prod(spec.shape) * spec.dtype.to_native_dtype().itemsize)


@functools.cache
def _codec(algorithm: str | None, kind: BitstreamKind, trusted: bool | None, device: int) -> Codec:
    return Codec(algorithm=algorithm, device=f"auto:{device}", bitstream_kind=kind, trusted=trusted)
