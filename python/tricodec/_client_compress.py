# SPDX-License-Identifier: Apache-2.0
"""The words of `tricodec.Codec` on their way to a Triton server, and how large its answers can be."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import tricodec
from tricodec.compress import BitshuffleMode, BitstreamKind, ChecksumPolicy

# Word of the request: its tensor, the tensor's type, and the default, which is not sent.
CODEC_WORDS: dict[str, tuple[str, str, Any]] = {
    "algorithm": ("ALGORITHM", "BYTES", None),
    "bitstream_kind": ("BITSTREAM_KIND", "BYTES", None),
    "checksum_policy": ("CHECKSUM_POLICY", "BYTES", None),
    "data_type": ("DATA_TYPE", "BYTES", None),
    "bitshuffle_mode": ("BITSHUFFLE_MODE", "BYTES", None),
    "uncomp_chunk_size": ("UNCOMP_CHUNK_SIZE", "INT64", None),
    "algorithm_type": ("ALGORITHM_TYPE", "INT64", None),
    "level": ("LEVEL", "INT64", None),
    "num_rles": ("NUM_RLES", "INT64", None),
    "num_deltas": ("NUM_DELTAS", "INT64", None),
    "use_bitpack": ("USE_BITPACK", "BOOL", None),
    "dtype": ("DTYPE", "BYTES", None),
    "shape": ("SHAPE", "INT64", None),
    "header": ("HEADER", "BOOL", False),
}
_ENUMS: dict[str, type[enum.Enum]] = {
    "bitstream_kind": BitstreamKind,
    "checksum_policy": ChecksumPolicy,
    "bitshuffle_mode": BitshuffleMode,
}
_HEADER_ROOM = 4096  # more than a header of 64 axes takes


def as_words(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words with members of enumerations and dtypes by their names, as they are sent."""
    sent = {name: value.name if isinstance(value, enum.Enum) else value for name, value in words.items()}
    for name in ("dtype", "data_type"):
        if sent.get(name) is not None and not isinstance(sent[name], str):
            sent[name] = np.dtype(sent[name]).str
    return sent


def flat_bytes(array: Any) -> npt.NDArray[np.uint8]:
    """The bytes of an array with a batch dimension of one, uint8 [1, N]."""
    return np.asarray(array, order="C").reshape(-1).view(np.uint8)[np.newaxis]


def most_compressed(num_bytes: int, words: Mapping[str, Any]) -> int | None:
    """The most bytes that so many compress to; None where what is wrong with the words is for the server to say."""
    try:
        return _codec(words).compression_config(num_bytes + _HEADER_ROOM).max_compressed_sizes[0]
    except (tricodec.Error, ValueError, TypeError, KeyError):
        return None


def decompressed_bytes(data: npt.NDArray[np.uint8], words: Mapping[str, Any]) -> int | None:
    """What data expand to, where their first bytes say so; None where it takes decompressing them to know."""
    if str(words.get("bitstream_kind") or "NVCOMP_NATIVE").upper() == "RAW":
        return None
    try:
        return _codec(words).get_uncomp_buffer_size(data) or None
    except (tricodec.Error, ValueError, TypeError, KeyError):
        return None


def _codec(words: Mapping[str, Any]) -> tricodec.Codec:
    keywords = {name: value for name, value in words.items() if name not in ("dtype", "shape", "header")}
    for name, members in _ENUMS.items():
        if keywords.get(name) is not None:
            keywords[name] = members[str(keywords[name]).upper()]
    return tricodec.Codec(**keywords, device="cpu")
