# SPDX-License-Identifier: Apache-2.0
"""One array to compress: what `tricodec.Codec.encode` and `encode_npy` do, into memory that is given."""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.compress import to_npy
from tricodec.triton_backend import arrays
from tricodec.triton_backend.settings import Settings


class CompressJob:
    """An array with its codec. The block is as large as the result can be until it is known."""

    def __init__(self, codec: tricodec.Codec, array: npt.NDArray[np.uint8]) -> None:
        self._codec = codec
        self._array = array
        self.block = arrays.ArrayBlock("|u1", (codec.get_max_comp_buffer_size(array),), 0)

    def write(self, memory: mmap.mmap) -> None:
        """Compresses into a memory file."""
        place, _ = self.block.read(memory)
        if self._codec.engine == "cpu":
            size = self._codec.encode(self._array, out=place).size
        else:
            packed = np.asarray(self._codec.encode(self._array).cpu())
            size = packed.size
            place[:size] = packed
        self.block = arrays.ArrayBlock("|u1", (size,), 0)

    def outcome(self) -> Any:
        """Compresses into new memory."""
        return self._codec.encode(self._array)


@dataclasses.dataclass(frozen=True, slots=True)
class CompressTask:
    """The request for one array.

    Attributes:
        codec: keywords of tricodec.Codec, JSON values only.
        typestr, shape: of the array, for the header.
        header: compress the array with numpy's header.
    """

    KIND: ClassVar[str] = "compress"
    DOING: ClassVar[str] = "compressing"
    SHORTEN: ClassVar[str] = "send smaller arrays, or choose a lower LEVEL or ALGORITHM_TYPE"

    codec: dict[str, Any]
    typestr: str = "|u1"
    shape: list[int] = dataclasses.field(default_factory=lambda: [-1])
    header: bool = False

    @staticmethod
    def read_block(described: dict[str, Any]) -> arrays.ArrayBlock:
        """See task.Task."""
        return arrays.read_block(described, arrays.ArrayBlock)

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[list[CompressJob]]:
        """See task.Task.

        Raises:
            ValueError, tricodec.Error: as tricodec.Codec.encode.
        """
        codec = arrays.codec_for(self.codec, settings, num_threads, trusted=True)  # nothing is decoded
        array = np.frombuffer(data, np.uint8)
        if self.header:
            dtype = np.dtype(self.typestr)
            array = to_npy(array.view(dtype).reshape(arrays.resolve_shape(self.shape, dtype, array.size)))
        yield [CompressJob(codec, array)]
