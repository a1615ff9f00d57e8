# SPDX-License-Identifier: Apache-2.0
"""The model `decompress`: compressed bytes in, arrays out."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend import arrays
from tricodec.triton_backend.decompress_task import DecompressTask, Restored
from tricodec.triton_backend.model import Answer, Model
from tricodec.triton_backend.settings import Settings


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = ("COMPRESSED", *arrays.INPUTS)
    PARAMETERS = arrays.PARAMETERS
    ITEM = "array"

    def initialize(self, args: dict[str, str]) -> None:
        """See Model; a configuration may give the output ARRAY another type than bytes."""
        described = pb_utils.get_output_config_by_name(json.loads(args["model_config"]), "ARRAY")
        self._dtype = np.dtype(pb_utils.triton_string_to_numpy(described["data_type"]))
        super().initialize(args)

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> arrays.ArrayRequest:
        """See Model."""
        codec, said = arrays.read_options(tensors)
        if said.get("header") and ("typestr" in said or "shape" in said):
            raise ValueError("with HEADER the data state DTYPE and SHAPE themselves; leave those inputs out")
        if self._dtype != np.uint8:
            said.setdefault("typestr", self._dtype.str)
        data = arrays.input_bytes("COMPRESSED", tensors["COMPRESSED"][0], settings)
        return arrays.ArrayRequest([(data, DecompressTask(codec, **said))], frozenset(requested))

    def answer(self, request: arrays.ArrayRequest, outcomes: list[Any]) -> Answer:
        """The array: its bytes, dtype and shape; or as it is, where the configuration gives the output a type."""
        (restored,) = outcomes
        tensors = []
        if "ARRAY" in request.requested:
            tensors.append(self._array_tensor(restored))
        if "DTYPE" in request.requested:
            tensors.append(pb_utils.Tensor("DTYPE", np.array([[restored.dtype.name.encode()]], np.object_)))
        if "SHAPE" in request.requested:
            tensors.append(pb_utils.Tensor("SHAPE", np.array(restored.shape, np.int64).reshape(1, -1)))
        return Answer(tensors, 0, restored.data.nbytes)

    def _array_tensor(self, restored: Restored) -> Any:
        data = restored.data
        if self._dtype == np.uint8 and isinstance(data, tricodec.DeviceArray):
            return pb_utils.Tensor.from_dlpack("ARRAY", data.reshape((1, *data.shape)))
        host = data.numpy() if isinstance(data, tricodec.DeviceArray) else data
        if self._dtype == np.uint8:
            return pb_utils.Tensor("ARRAY", host[np.newaxis])
        if restored.dtype != self._dtype:
            raise ValueError(f"the array is of {restored.dtype.name}, and this model gives {self._dtype.name}")
        return pb_utils.Tensor("ARRAY", host.view(self._dtype).reshape((1, *restored.shape)))
