# SPDX-License-Identifier: Apache-2.0
"""The model `compress`: arrays in, compressed bytes out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
import triton_python_backend_utils as pb_utils
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.codec_task import CompressTask
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import Table, check_size, number, options, word
from tricodec.triton_backend.runtime.settings import CODEC_PARAMETERS, Settings

_MOST_DIMENSIONS = 64
CODEC: Table = {
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


ARRAY: Table = {"DTYPE": ("typestr", _typestr), "SHAPE": ("shape", _extents), "HEADER": ("header", number)}

CODEC_INPUTS = (*CODEC, *ARRAY)
"""The inputs of both models that describe the codec and the array, all optional."""


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = ("ARRAY", *CODEC_INPUTS)
    PARAMETERS = CODEC_PARAMETERS
    ITEM = "array"

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> list[tuple[Any, CompressTask]]:
        """See Model. An ARRAY of another type or of more dimensions than configured by default describes itself."""
        codec, said = options(CODEC, tensors, 0), options(ARRAY, tensors, 0)
        if "algorithm" not in codec:
            names = ", ".join(tricodec.compress.compression_algorithms())
            raise ValueError(f"ALGORITHM is missing; send one of {names}")
        array = tensors["ARRAY"][0]
        if not said.get("header") and ("typestr" in said or "shape" in said):
            raise ValueError("only a header keeps DTYPE and SHAPE; send HEADER too")
        said.setdefault("shape", [-1] if "typestr" in said else list(array.shape))
        said.setdefault("typestr", array.dtype.str)
        data = input_bytes("ARRAY", array, settings)
        return [(data, CompressTask(codec, **said))]

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The compressed bytes."""
        del requested
        [packed] = outcomes[0].arrays
        return Answer([pb_utils.Tensor("COMPRESSED", packed[np.newaxis])], 0, packed.nbytes)


def input_bytes(name: str, array: npt.NDArray[Any], settings: Settings) -> Any:
    """The bytes of an input's one row.

    Raises:
        ValueError: if there are more than the model accepts.
    """
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    check_size(flat.size, name, settings)
    return flat
