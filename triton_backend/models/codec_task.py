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
from tricodec.compress import BitshuffleMode, BitstreamKind, ChecksumPolicy, DecompressConfig, from_npy, to_npy
from tricodec.node.tasks import Block, Place, Tools
from tricodec.triton_backend.runtime.settings import Settings

_CHOICES: dict[str, type[enum.Enum]] = {
    "bitstream_kind": BitstreamKind,
    "checksum_policy": ChecksumPolicy,
    "bitshuffle_mode": BitshuffleMode,
}


@dataclasses.dataclass(frozen=True, slots=True)
class _ArrayTask:
    """The request for one array.

    Attributes:
        codec: keywords of tricodec.Codec, JSON values only.
        typestr, shape: of the array, unless they are in its header; one extent may be -1.
        header: whether the array is compressed with numpy's header.
    """

    codec: dict[str, Any]
    typestr: str = "|u1"
    shape: list[int] = dataclasses.field(default_factory=lambda: [-1])
    header: bool = False

    def opened(self, tools: Tools) -> tricodec.Codec:
        """The codec. The process may end by what it decodes, which is all that data can do."""
        return _codec(tuple(sorted(self.codec.items())), tools.device, tools.num_threads)


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


class CompressTask(_ArrayTask):
    """The request to compress one."""

    __slots__ = ()

    DOING: ClassVar[str] = "compressing"
    SHORTEN: ClassVar[str] = "send smaller arrays, or choose a lower LEVEL or ALGORITHM_TYPE"

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[CompressJob]]:
        """See `tricodec.node.tasks.Task`."""
        codec = self.opened(tools)
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
        self._header = task.header
        self._file = Place("|u1", (size,))
        facts: dict[str, Any] = {}
        if not task.header:
            shape = _resolve_shape(task.shape, np.dtype(task.typestr), size)
            facts = {"typestr": task.typestr, "shape": shape}
        self.block = Block([self._file], facts=facts)

    def write(self, memory: mmap.mmap) -> None:
        """Decompresses into a memory file."""
        place = self._file.array(memory)
        if place.size == 0 and not self._header:
            return
        if self._codec.engine == "cpu":
            config = DecompressConfig((place.size,))
            self._codec.decode(self._data, out=place, decompression_config=config)
        else:
            place[:] = np.asarray(self._codec.decode(self._data).cpu())
        if self._header:
            array = from_npy(place)
            elements = Place("|u1", (array.nbytes,), place.size - array.nbytes)
            self.block = Block([elements], facts={"typestr": array.dtype.str, "shape": array.shape})


class DecompressTask(_ArrayTask):
    """The request to decompress one; its codec may be in the data."""

    __slots__ = ()

    DOING: ClassVar[str] = "decompressing"
    SHORTEN: ClassVar[str] = "compress smaller arrays"

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[DecompressJob]]:
        """See `tricodec.node.tasks.Task`."""
        codec = self.opened(tools)
        packed = np.frombuffer(data, np.uint8)
        size = codec.get_uncomp_buffer_size(packed)
        settings.check_output(size, "the data expand to")
        yield [DecompressJob(codec, packed, self, size)]


@functools.lru_cache(maxsize=16)
def _codec(keywords: tuple[tuple[str, Any], ...], device: str, num_threads: int) -> tricodec.Codec:
    """A codec for a request; one that was made before is used again."""
    options = {name: _member(_CHOICES[name], name, value) if name in _CHOICES else value for name, value in keywords}
    return tricodec.Codec(**options, device=device, num_threads=num_threads, trusted=True)


def _member(members: type[enum.Enum], name: str, text: str) -> Any:
    if text.upper() not in members.__members__:
        accepted = ", ".join(members.__members__)
        raise ValueError(f"{name.upper()}: {text!r} is not accepted; use one of {accepted}")
    return members[text.upper()]


def _resolve_shape(extents: Sequence[int], dtype: np.dtype[Any], num_bytes: int) -> tuple[int, ...]:
    """The shape of an array of so many bytes, with -1 replaced. ValueError if the bytes do not fill it."""
    if num_bytes % dtype.itemsize:
        raise ValueError(
            f"there are {num_bytes} bytes, which is not a multiple of the {dtype.itemsize} of {dtype.name}"
        )
    elements = num_bytes // dtype.itemsize
    if min(extents, default=0) < -1 or extents.count(-1) > 1:
        raise ValueError(f"SHAPE is {extents}; its extents are 0 or more, and one may be -1")
    try:
        return np.broadcast_to(0, elements).reshape(extents).shape
    except ValueError as error:
        text = f"there are {num_bytes} bytes, {elements} of {dtype.name}; they do not fill SHAPE {extents}"
        raise ValueError(text) from error
