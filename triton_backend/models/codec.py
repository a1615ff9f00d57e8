# SPDX-License-Identifier: Apache-2.0
"""The models `compress` and `decompress`: arrays in, compressed bytes out, and back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.codec_task import CompressTask, DecompressTask
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import Table, Tensors, inputs, number, options, word
from tricodec.triton_backend.runtime.settings import CODEC_PARAMETERS, Settings
from tricodec.triton_backend.runtime.stub import numpy_type

_MOST_DIMENSIONS = 64
_CODEC: Table = {
    **inputs(word, "algorithm", "bitstream_kind", "checksum_policy", "data_type", "bitshuffle_mode"),
    **inputs(number, "uncomp_chunk_size", "algorithm_type", "level", "num_rles", "num_deltas", "use_bitpack"),
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


class _CodecModel(Model):
    """What both models are: a request has one array and options of a codec."""

    PARAMETERS = CODEC_PARAMETERS
    ITEM = "array"

    def input_bytes(self, name: str, array: npt.NDArray[Any]) -> Any:
        """The bytes of an input's one row. ValueError for more of them than the model accepts."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.settings.check_input(flat.size, name)
        return flat


class CompressModel(_CodecModel):
    """What Triton calls."""

    INPUTS = ("ARRAY", *_CODEC, *_ARRAY)

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, CompressTask]]:
        """See Model. An ARRAY of another type or of more dimensions than configured by default describes itself."""
        codec, said = options(_CODEC, tensors), options(_ARRAY, tensors)
        if "algorithm" not in codec:
            names = ", ".join(tricodec.compress.compression_algorithms())
            raise ValueError(f"ALGORITHM is missing; send one of {names}")
        array = tensors["ARRAY"][0]
        if not said.get("header") and ("typestr" in said or "shape" in said):
            raise ValueError("only a header keeps DTYPE and SHAPE; send HEADER too")
        said.setdefault("shape", [-1] if "typestr" in said else list(array.shape))
        said.setdefault("typestr", array.dtype.str)
        return [(self.input_bytes("ARRAY", array), CompressTask(codec, **said))]

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """The compressed bytes."""
        [packed] = outcomes[0].arrays
        return Answer({"COMPRESSED": packed[np.newaxis]}, packed.nbytes)


class DecompressModel(_CodecModel):
    """What Triton calls."""

    INPUTS = ("COMPRESSED", *_CODEC, *_ARRAY)

    def initialize(self, args: dict[str, str]) -> None:
        """See Model; a configuration may give the output ARRAY another type than bytes."""
        outputs = {each["name"]: numpy_type(each) for each in json.loads(args["model_config"])["output"]}
        self._dtype = outputs["ARRAY"]
        super().initialize(args)

    def prepare(self, folder: str, settings: Settings) -> Settings:
        """See Model. A GPU is for data that are trusted."""
        del folder
        return settings if settings.trusted == "true" else dataclasses.replace(settings, device="cpu")

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, DecompressTask]]:
        """See Model."""
        codec, said = options(_CODEC, tensors), options(_ARRAY, tensors)
        if said.get("header") and ("typestr" in said or "shape" in said):
            raise ValueError("with HEADER the data state DTYPE and SHAPE themselves; leave those inputs out")
        if self._dtype != np.uint8:
            said.setdefault("typestr", self._dtype.str)
        return [(self.input_bytes("COMPRESSED", tensors["COMPRESSED"][0]), DecompressTask(codec, **said))]

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """The array: its bytes, dtype and shape; or as it is, if the configuration gives the output a type."""
        [outcome] = outcomes
        [data] = outcome.arrays
        dtype, shape = np.dtype(outcome.facts["typestr"]), tuple(outcome.facts["shape"])
        array = data
        if self._dtype != np.uint8:
            if dtype != self._dtype:
                raise ValueError(f"the array is of {dtype.name}, and this model gives {self._dtype.name}")
            array = data.view(dtype).reshape(shape)
        outputs = {
            "ARRAY": array[np.newaxis],
            "DTYPE": np.array([[dtype.name.encode()]], np.object_),
            "SHAPE": np.array(shape, np.int64).reshape(1, -1),
        }
        return Answer(outputs, data.nbytes)
