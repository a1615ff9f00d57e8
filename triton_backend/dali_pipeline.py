# SPDX-License-Identifier: Apache-2.0
"""The model for DALI pipelines: the file `dali.py` beside it defines the work on the inputs of its configuration."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.dali_task import DaliTask, lay_out
from tricodec.triton_backend.model import Answer, Model
from tricodec.triton_backend.request import check_size
from tricodec.triton_backend.settings import COMMON_PARAMETERS, Settings

_FILE = "dali.py"

# Imports from exactly where the stub does, as workers do.
_TRY = """
import json, sys, traceback
sys.path[:] = json.loads(sys.argv[1])
from tricodec.triton_backend.dali_task import try_pipeline
try:
    try_pipeline(*json.loads(sys.argv[2]))
except Exception as error:
    sys.exit("".join(traceback.format_exception(error, limit=-1, chain=False)))  # where in the file it was raised
"""
_MAX_TEXT = 2000


@dataclasses.dataclass(frozen=True, slots=True)
class PipelineRequest:
    """One Triton request.

    Attributes:
        items: the data and the task of each row.
        requested: names of the outputs that it asks for.
    """

    items: list[tuple[npt.NDArray[np.uint8], DaliTask]]
    requested: frozenset[str]


class TritonPythonModel(Model):
    """What Triton calls. Its inputs are the pipeline's external sources of the same names, its outputs go by order."""

    PARAMETERS = (*COMMON_PARAMETERS, "max_width", "max_height")
    ITEM = "sample"

    def initialize(self, args: dict[str, str]) -> None:
        """See Model. A pipeline that does not fit the configuration fails now.

        Raises:
            RuntimeError: also if the pipeline cannot be built, such as without DALI; the text has the reason.
        """
        config = json.loads(args["model_config"])
        self._path = str(Path(args["model_repository"]) / args["model_version"] / _FILE)
        self.INPUTS = [described["name"] for described in config["input"]]
        self._outputs = {
            described["name"]: np.dtype(pb_utils.triton_string_to_numpy(described["data_type"]))
            for described in config["output"]
        }
        super().initialize(args)
        try:
            self._try_pipeline(config["input"])
        except RuntimeError:
            self.finalize()
            raise

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> PipelineRequest:
        """See Model."""
        missing = [name for name in self.INPUTS if name not in tensors]
        if missing:
            raise ValueError(f"{', '.join(missing)} is missing; the pipeline takes all of {', '.join(self.INPUTS)}")
        items = []
        for index in range(len(next(iter(tensors.values())))):
            row = {name: _plain(tensor[index]) for name, tensor in tensors.items()}
            blocks, size = lay_out(list(row.values()))
            data = np.zeros(max(1, size), np.uint8)
            for (name, array), block in zip(row.items(), blocks, strict=True):
                check_size(array.nbytes, name, settings)
                np.ndarray(array.shape, array.dtype, data, block.start)[...] = array
            described = {name: dataclasses.asdict(block) for name, block in zip(row, blocks, strict=True)}
            items.append((data, DaliTask(self._path, described)))
        return PipelineRequest(items, frozenset(requested))

    def answer(self, request: PipelineRequest, outcomes: list[Any]) -> Answer:
        """The outputs of all samples, each as one tensor."""
        tensors = []
        num_bytes = 0
        for (name, dtype), samples in zip(self._outputs.items(), zip(*outcomes, strict=True), strict=True):
            if name not in request.requested:
                continue
            shapes = sorted({sample.shape for sample in samples})
            if len(shapes) > 1:
                raise ValueError(
                    f"{name} came out in different shapes, {', '.join(map(str, shapes))}; send the samples in requests "
                    "of their own"
                )
            if samples[0].dtype != dtype:
                raise ValueError(
                    f"the pipeline gives {name} as {samples[0].dtype.name}, and this model's config.pbtxt says "
                    f"{dtype.name}; make them equal"
                )
            batch = np.stack(samples) if len(samples) > 1 else samples[0][np.newaxis]
            tensors.append(pb_utils.Tensor(name, batch))
            num_bytes += batch.nbytes
        return Answer(tensors, 0, num_bytes)

    def _try_pipeline(self, inputs: list[dict[str, Any]]) -> None:
        """Builds it in a process of its own, so that a crash costs nothing, and without a deadline: the first import of
        tricodec.dali may have to compile.
        """
        described = {}
        for each in inputs:
            dtype = np.dtype(pb_utils.triton_string_to_numpy(each["data_type"]))
            described[each["name"]] = ("uint8", 1) if dtype == np.object_ else (dtype.name, len(each["dims"]))
        arguments = [self._path, described, list(self._outputs), self.settings.device]
        command = [sys.executable, "-I", "-c", _TRY, json.dumps([path for path in sys.path if path])]
        result = subprocess.run([*command, json.dumps(arguments)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"the pipeline {self._path} cannot be served: {result.stderr.strip()[-_MAX_TEXT:]}")


def _plain(row: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A row as DALI takes it: an element of BYTES as its bytes.

    Raises:
        ValueError: for several elements of BYTES.
    """
    if row.dtype != np.object_:
        return row
    if row.size != 1:
        raise ValueError(f"expected one element of BYTES a sample, got {row.size}")
    element = row.reshape(-1)[0]
    return np.frombuffer(element if isinstance(element, bytes) else str(element).encode(), np.uint8)
