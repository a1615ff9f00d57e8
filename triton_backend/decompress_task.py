# SPDX-License-Identifier: Apache-2.0
"""One array to decompress: what `tricodec.Codec.decode` and `decode_npy` do, into memory that is given."""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.compress import ArrayBufferKind, DecompressConfig, from_npy
from tricodec.triton_backend import arrays
from tricodec.triton_backend.settings import Settings


@dataclasses.dataclass(frozen=True, slots=True)
class Restored:
    """The content of compressed bytes.

    Attributes:
        data: the array's bytes, uint8 [N]: of numpy, or a tricodec.DeviceArray.
        dtype: of the array.
        shape: of the array.
    """

    data: Any
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class RestoredBlock(arrays.ArrayBlock):
    """Where an array lies in a shared memory file."""

    def read(self, memory: mmap.mmap) -> tuple[Any, npt.NDArray[Any]]:
        """See task.Block."""
        array, _ = arrays.ArrayBlock.read(self, memory)
        data: npt.NDArray[np.uint8] = np.ndarray((array.nbytes,), np.uint8, memory, self.start)
        return Restored(data, array.dtype, array.shape), data


class DecompressJob:
    """Compressed bytes with their codec. The block is all that they expand to until a header has been read."""

    def __init__(self, codec: tricodec.Codec, data: npt.NDArray[np.uint8], task: DecompressTask, size: int) -> None:
        self._codec = codec
        self._data = data
        self._config = DecompressConfig((size,))
        self._header = task.header
        self._file = arrays.ArrayBlock("|u1", (size,), 0)
        self.block: arrays.ArrayBlock = self._file
        if not task.header:
            dtype = np.dtype(task.typestr)
            self.block = RestoredBlock(task.typestr, arrays.resolve_shape(task.shape, dtype, size), 0)

    def write(self, memory: mmap.mmap) -> None:
        """Decompresses into a memory file."""
        place, _ = self._file.read(memory)
        if place.size == 0:
            return
        if self._codec.engine == "cpu":
            self._codec.decode(self._data, out=place, decompression_config=self._config)
        else:
            place[:] = np.asarray(self._codec.decode(self._data).cpu())
        if self._header:
            array = from_npy(place)
            self.block = RestoredBlock(array.dtype.str, array.shape, place.size - array.nbytes)

    def outcome(self) -> Any:
        """Decompresses into new memory, of a GPU if one works."""
        if self._header:
            array = self._codec.decode_npy(self._data)
            return Restored(array.reshape(-1).view(np.uint8), array.dtype, array.shape)
        result = self._codec.decode(self._data, decompression_config=self._config)
        if result.buffer_kind is ArrayBufferKind.STRIDED_DEVICE:
            result = tricodec.DeviceArray.copy_of(result)
        else:
            result = np.asarray(result)
        return Restored(result, np.dtype(self.block.typestr), self.block.shape)


@dataclasses.dataclass(frozen=True, slots=True)
class DecompressTask:
    """The request for compressed bytes.

    Attributes:
        codec: keywords of tricodec.Codec, JSON values only.
        typestr: of the elements.
        shape: of the result; one extent may be -1, None is one dimension.
        header: both are in the data.
    """

    KIND: ClassVar[str] = "decompress"
    DOING: ClassVar[str] = "decompressing"
    SHORTEN: ClassVar[str] = "compress smaller arrays"

    codec: dict[str, Any]
    typestr: str = "|u1"
    shape: list[int] | None = None
    header: bool = False

    @staticmethod
    def read_block(described: dict[str, Any]) -> RestoredBlock:
        """See task.Task."""
        return arrays.read_block(described, RestoredBlock)

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[list[DecompressJob]]:
        """See task.Task.

        Raises:
            ValueError, tricodec.Error: as tricodec.Codec.decode.
        """
        trusted = settings.trusted == "true"
        place = settings if trusted else dataclasses.replace(settings, device="cpu")
        codec = arrays.codec_for(self.codec, place, num_threads, trusted=trusted)
        packed = np.frombuffer(data, np.uint8)
        size = codec.get_uncomp_buffer_size(packed)
        if size > settings.max_output_bytes:
            raise tricodec.RefusedError(
                f"the data expand to {size} bytes, and this model gives at most {settings.max_output_bytes} an answer "
                "(its parameter max_output_bytes)"
            )
        yield [DecompressJob(codec, packed, self, size)]
