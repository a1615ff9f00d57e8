# SPDX-License-Identifier: Apache-2.0
"""The model `compress`: arrays in, compressed bytes out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.models import arrays
from tricodec.triton_backend.models.codec_task import CompressTask
from tricodec.triton_backend.runtime.block import Outcome
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.settings import Settings


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = ("ARRAY", *arrays.INPUTS)
    PARAMETERS = arrays.PARAMETERS
    ITEM = "array"

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> list[tuple[Any, CompressTask]]:
        """See Model. An ARRAY of another type or of more dimensions than configured by default describes itself."""
        codec, said = arrays.read_options(tensors)
        if "algorithm" not in codec:
            names = ", ".join(tricodec.compress.compression_algorithms())
            raise ValueError(f"ALGORITHM is missing; send one of {names}")
        array = tensors["ARRAY"][0]
        if not said.get("header") and ("typestr" in said or "shape" in said):
            raise ValueError("only a header keeps DTYPE and SHAPE; send HEADER too")
        said.setdefault("shape", [-1] if "typestr" in said else list(array.shape))
        said.setdefault("typestr", array.dtype.str)
        data = arrays.input_bytes("ARRAY", array, settings)
        return [(data, CompressTask(codec, **said))]

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The compressed bytes."""
        del requested
        [packed] = outcomes[0].arrays
        return Answer([pb_utils.Tensor("COMPRESSED", packed[np.newaxis])], 0, packed.nbytes)
