# SPDX-License-Identifier: Apache-2.0
"""The model `decompress`: compressed bytes in, arrays out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models import compress
from tricodec.triton_backend.models.codec_task import DecompressTask
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import options
from tricodec.triton_backend.runtime.settings import CODEC_PARAMETERS, Settings


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = ("COMPRESSED", *compress.CODEC_INPUTS)
    PARAMETERS = CODEC_PARAMETERS
    ITEM = "array"

    def initialize(self, args: dict[str, str]) -> None:
        """See Model; a configuration may give the output ARRAY another type than bytes."""
        described = pb_utils.get_output_config_by_name(json.loads(args["model_config"]), "ARRAY")
        self._dtype = np.dtype(pb_utils.triton_string_to_numpy(described["data_type"]))
        super().initialize(args)

    def prepare(self, folder: str, settings: Settings) -> Settings:
        """See Model. A GPU is for data that are trusted."""
        del folder
        return settings if settings.trusted == "true" else dataclasses.replace(settings, device="cpu")

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> list[tuple[Any, DecompressTask]]:
        """See Model."""
        codec, said = options(compress.CODEC, tensors, 0), options(compress.ARRAY, tensors, 0)
        if said.get("header") and ("typestr" in said or "shape" in said):
            raise ValueError("with HEADER the data state DTYPE and SHAPE themselves; leave those inputs out")
        if self._dtype != np.uint8:
            said.setdefault("typestr", self._dtype.str)
        data = compress.input_bytes("COMPRESSED", tensors["COMPRESSED"][0], settings)
        return [(data, DecompressTask(codec, **said))]

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The array: its bytes, dtype and shape; or as it is, if the configuration gives the output a type."""
        [outcome] = outcomes
        [data] = outcome.arrays
        dtype, shape = np.dtype(outcome.facts["typestr"]), tuple(outcome.facts["shape"])
        tensors = []
        if "ARRAY" in requested:
            tensors.append(self._array_tensor(data, dtype, shape))
        if "DTYPE" in requested:
            tensors.append(pb_utils.Tensor("DTYPE", np.array([[dtype.name.encode()]], np.object_)))
        if "SHAPE" in requested:
            tensors.append(pb_utils.Tensor("SHAPE", np.array(shape, np.int64).reshape(1, -1)))
        return Answer(tensors, 0, data.nbytes)

    def _array_tensor(self, data: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
        if self._dtype == np.uint8:
            return pb_utils.Tensor("ARRAY", data[np.newaxis])
        if dtype != self._dtype:
            raise ValueError(f"the array is of {dtype.name}, and this model gives {self._dtype.name}")
        return pb_utils.Tensor("ARRAY", data.view(self._dtype).reshape((1, *shape)))
