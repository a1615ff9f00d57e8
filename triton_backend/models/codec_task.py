# SPDX-License-Identifier: Apache-2.0
"""One array to compress or to decompress: what `tricodec.Codec` does, into memory that is given."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import mmap
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.compress import (
    BitshuffleMode,
    BitstreamKind,
    ChecksumPolicy,
    DecompressConfig,
    from_npy,
    to_npy,
)  # fmt: skip
from tricodec.node.tasks import Block, Place, Tools
from tricodec.triton_backend.runtime.settings import Settings

_CHOICES: dict[str, type[enum.Enum]] = {
    "bitstream_kind": BitstreamKind,
    "checksum_policy": ChecksumPolicy,
    "bitshuffle_mode": BitshuffleMode,
}


class CompressJob:
    """An array with its codec. The block is as large as the result can be until it is known."""

    def __init__(self, codec: tricodec.Codec, array: npt.NDArray[np.uint8]) -> None:
        self._codec = codec
        self._array = array
        self.block = Block([Place("|u1", (codec.get_max_comp_buffer_size(array),))])

    def write(self, memory: mmap.mmap) -> None:
        """Compresses into a memory file."""
        place = self.block.places[0].array(memory)
        if self._codec.engine == "cpu":
            size = self._codec.encode(self._array, out=place).size
        else:
            packed = np.asarray(self._codec.encode(self._array).cpu())
            size = packed.size
            place[:size] = packed
        self.block = Block([Place("|u1", (size,))])


@dataclasses.dataclass(frozen=True, slots=True)
class CompressTask:
    """The request for one array.

    Attributes:
        codec: keywords of tricodec.Codec, JSON values only.
        typestr, shape: of the array, for the header.
        header: compress the array with numpy's header.
    """

    DOING: ClassVar[str] = "compressing"
    SHORTEN: ClassVar[str] = "send smaller arrays, or choose a lower LEVEL or ALGORITHM_TYPE"

    codec: dict[str, Any]
    typestr: str = "|u1"
    shape: list[int] = dataclasses.field(default_factory=lambda: [-1])
    header: bool = False

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[CompressJob]]:
        """See `tricodec.node.tasks.Task`.

        Raises:
            ValueError, tricodec.Error: as tricodec.Codec.encode.
        """
        codec = _codec(tuple(sorted(self.codec.items())), tools.device, tools.num_threads)
        array = np.frombuffer(data, np.uint8)
        if self.header:
            dtype = np.dtype(self.typestr)
            array = to_npy(array.view(dtype).reshape(_resolve_shape(self.shape, dtype, array.size)))
        yield [CompressJob(codec, array)]


class DecompressJob:
    """Compressed bytes with their codec. The block is all that they expand to until a header has been read."""

    def __init__(self, codec: tricodec.Codec, data: npt.NDArray[np.uint8], task: DecompressTask, size: int) -> None:
        self._codec = codec
        self._data = data
        self._config = DecompressConfig((size,))
        self._header = task.header
        self._file = Place("|u1", (size,))
        self._facts: dict[str, Any] = {}
        if not task.header:
            dtype = np.dtype(task.typestr)
            self._facts = {"typestr": task.typestr, "shape": _resolve_shape(task.shape, dtype, size)}
        self.block = Block([self._file], facts=self._facts)

    def write(self, memory: mmap.mmap) -> None:
        """Decompresses into a memory file."""
        place = self._file.array(memory)
        if place.size == 0 and not self._header:
            return
        if self._codec.engine == "cpu":
            self._codec.decode(self._data, out=place, decompression_config=self._config)
        else:
            place[:] = np.asarray(self._codec.decode(self._data).cpu())
        if self._header:
            array = from_npy(place)
            elements = Place("|u1", (array.nbytes,), place.size - array.nbytes)
            self.block = Block([elements], facts={"typestr": array.dtype.str, "shape": array.shape})


@dataclasses.dataclass(frozen=True, slots=True)
class DecompressTask:
    """The request for compressed bytes.

    Attributes:
        codec: keywords of tricodec.Codec, JSON values only.
        typestr: of the elements.
        shape: of the result; one extent may be -1, None is one dimension.
        header: both are in the data.
    """

    DOING: ClassVar[str] = "decompressing"
    SHORTEN: ClassVar[str] = "compress smaller arrays"

    codec: dict[str, Any]
    typestr: str = "|u1"
    shape: list[int] | None = None
    header: bool = False

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[DecompressJob]]:
        """See `tricodec.node.tasks.Task`.

        Raises:
            ValueError, tricodec.Error: as tricodec.Codec.decode.
        """
        # The process may end by what it decodes, which is all that data can do.
        codec = _codec(tuple(sorted(self.codec.items())), tools.device, tools.num_threads)
        packed = np.frombuffer(data, np.uint8)
        size = codec.get_uncomp_buffer_size(packed)
        settings.check_output(size, "the data expand to")
        yield [DecompressJob(codec, packed, self, size)]


@functools.lru_cache(maxsize=16)
def _codec(keywords: tuple[tuple[str, Any], ...], device: str, num_threads: int) -> tricodec.Codec:
    """A codec for a request; one that was made before is used again.

    Raises:
        ValueError, tricodec.Error: as tricodec.Codec.
    """
    options = {name: _member(_CHOICES[name], name, value) if name in _CHOICES else value for name, value in keywords}
    return tricodec.Codec(**options, device=device, num_threads=num_threads, trusted=True)


def _member(members: type[enum.Enum], name: str, text: str) -> Any:
    if text.upper() not in members.__members__:
        accepted = ", ".join(members.__members__)
        raise ValueError(f"{name.upper()}: {text!r} is not accepted; use one of {accepted}")
    return members[text.upper()]


def _resolve_shape(shape: Sequence[int] | None, dtype: np.dtype[Any], num_bytes: int) -> tuple[int, ...]:
    """The shape of an array of so many bytes, with -1 replaced; one-dimensional for None.

    Raises:
        ValueError: if the bytes do not fill it.
    """
    if num_bytes % dtype.itemsize:
        raise ValueError(
            f"there are {num_bytes} bytes, which is not a multiple of the {dtype.itemsize} of {dtype.name}"
        )
    elements = num_bytes // dtype.itemsize
    extents = [-1] if shape is None else list(shape)
    if min(extents, default=0) < -1 or extents.count(-1) > 1:
        raise ValueError(f"SHAPE is {extents}; its extents are 0 or more, and one may be -1")
    try:
        return np.broadcast_to(0, elements).reshape(extents).shape
    except ValueError as error:
        text = f"there are {num_bytes} bytes, {elements} of {dtype.name}; they do not fill SHAPE {extents}"
        raise ValueError(text) from error
