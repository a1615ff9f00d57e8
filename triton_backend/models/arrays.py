# SPDX-License-Identifier: Apache-2.0
"""What the models `compress` and `decompress` have in common: the codec that a request describes, dtypes, shapes."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.compress import BitshuffleMode, BitstreamKind, ChecksumPolicy
from tricodec.triton_backend.runtime.rows import Table, check_size, number, options, word
from tricodec.triton_backend.runtime.settings import COMMON_PARAMETERS, Settings

PARAMETERS = (*COMMON_PARAMETERS, "trusted")
"""What the models take."""

_MOST_DIMENSIONS = 64
_WORDS: dict[str, type[enum.Enum]] = {
    "bitstream_kind": BitstreamKind,
    "checksum_policy": ChecksumPolicy,
    "bitshuffle_mode": BitshuffleMode,
}
_CODEC: Table = {
    "ALGORITHM": ("algorithm", word),
    "BITSTREAM_KIND": ("bitstream_kind", word),
    "CHECKSUM_POLICY": ("checksum_policy", word),
    "DATA_TYPE": ("data_type", word),
    "BITSHUFFLE_MODE": ("bitshuffle_mode", word),
    "UNCOMP_CHUNK_SIZE": ("uncomp_chunk_size", number),
    "ALGORITHM_TYPE": ("algorithm_type", number),
    "LEVEL": ("level", number),
    "NUM_RLES": ("num_rles", number),
    "NUM_DELTAS": ("num_deltas", number),
    "USE_BITPACK": ("use_bitpack", number),
}


def _extents(row: npt.NDArray[Any]) -> list[int]:
    if row.size > _MOST_DIMENSIONS:
        raise ValueError(f"expected at most {_MOST_DIMENSIONS} extents, got {row.size}")
    return [int(extent) for extent in row.reshape(-1)]


def _typestr(row: npt.NDArray[Any]) -> str:
    text = word(row)
    try:
        dtype = np.dtype(text)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{text!r} is not a dtype") from error
    if dtype.kind not in "biufc":
        raise ValueError(f"{text!r} is not a dtype of numbers")
    return dtype.newbyteorder("<").str


_ARRAY: Table = {"DTYPE": ("typestr", _typestr), "SHAPE": ("shape", _extents), "HEADER": ("header", number)}

INPUTS = (*_CODEC, *_ARRAY)
"""The inputs that say what is done, all optional."""


def read_options(tensors: Mapping[str, npt.NDArray[Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The codec's keywords, as JSON values, and the description of the array: typestr, shape, header.

    Raises:
        ValueError: naming the input that is not accepted.
    """
    codec = options(_CODEC, tensors, 0)
    for name, members in _WORDS.items():
        if name in codec:
            _member(members, name, codec[name])  # raises now, not in a worker
    return codec, options(_ARRAY, tensors, 0)


def input_bytes(name: str, array: npt.NDArray[Any], settings: Settings) -> Any:
    """The bytes of an input's one row.

    Raises:
        ValueError: if there are more than the model accepts.
    """
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    check_size(flat.size, name, settings)
    return flat


def codec_for(keywords: Mapping[str, Any], settings: Settings, num_threads: int, *, trusted: bool) -> tricodec.Codec:
    """A codec for a request; one that was made before is used again.

    Raises:
        ValueError, tricodec.Error: as tricodec.Codec.
    """
    return _codec(tuple(sorted(keywords.items())), settings.device, num_threads, trusted)


def resolve_shape(shape: Sequence[int] | None, dtype: np.dtype[Any], num_bytes: int) -> tuple[int, ...]:
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
    given = 1
    for extent in extents:
        given *= 1 if extent == -1 else extent
    if -1 in extents and given and elements % given == 0:
        extents[extents.index(-1)] = elements // given
    elif -1 in extents or given != elements:
        raise ValueError(f"there are {num_bytes} bytes, {elements} of {dtype.name}; they do not fill SHAPE {extents}")
    return tuple(extents)


def _member(members: type[enum.Enum], name: str, text: str) -> Any:
    if text.upper() not in members.__members__:
        accepted = ", ".join(members.__members__)
        raise ValueError(f"{name.upper()}: {text!r} is not accepted; use one of {accepted}")
    return members[text.upper()]


@functools.lru_cache(maxsize=16)
def _codec(keywords: tuple[tuple[str, Any], ...], device: str, num_threads: int, trusted: bool) -> tricodec.Codec:
    words = {name: _member(_WORDS[name], name, value) if name in _WORDS else value for name, value in keywords}
    return tricodec.Codec(**words, device=device, num_threads=num_threads, trusted=trusted)
