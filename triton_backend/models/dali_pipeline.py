# SPDX-License-Identifier: Apache-2.0
"""The model for DALI pipelines: the file `dali.py` beside it defines the work on the inputs of its configuration."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tricodec.node.tasks import Outcome, lay_out
from tricodec.triton_backend.models.dali_task import DaliTask
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import Tensors, text_of
from tricodec.triton_backend.runtime.settings import COMMON_PARAMETERS, Settings
from tricodec.triton_backend.runtime.stub import numpy_type

_FILE = "dali.py"

# Imports from exactly where the stub does, as workers do.
_TRY = """
import json, sys, traceback
sys.path[:] = json.loads(sys.argv[1])
from tricodec.triton_backend.models.dali_task import try_pipeline
try:
    try_pipeline(*json.loads(sys.argv[2]))
except Exception as error:
    sys.exit("".join(traceback.format_exception(error, limit=-1, chain=False)))  # where in the file it was raised
"""
_MAX_TEXT = 2000


class PipelineModel(Model):
    """What Triton calls. Its inputs are the pipeline's external sources of the same names, its outputs go by order."""

    PARAMETERS = (*COMMON_PARAMETERS, "max_width", "max_height")
    ITEM = "sample"

    def initialize(self, args: dict[str, str]) -> None:
        """See Model."""
        config = json.loads(args["model_config"])
        self._path = str(Path(args["model_repository"]) / args["model_version"] / _FILE)
        self._inputs = config["input"]
        self.INPUTS = [described["name"] for described in self._inputs]
        self._outputs = {described["name"]: numpy_type(described) for described in config["output"]}
        super().initialize(args)

    def prepare(self, folder: str, settings: Settings) -> Settings:
        """See Model. Tries the pipeline in a process of its own, so that a crash costs nothing, and without a deadline:
        the first import of tricodec.dali may have to compile.

        Raises:
            RuntimeError: it cannot be built, or does not fit the configuration.
        """
        described = {}
        for each in self._inputs:
            dtype = numpy_type(each)
            described[each["name"]] = ("uint8", 1) if dtype == np.object_ else (dtype.name, len(each["dims"]))
        arguments = [self._path, described, list(self._outputs), settings.device]
        command = [sys.executable, "-I", "-c", _TRY, json.dumps([path for path in sys.path if path])]
        result = subprocess.run([*command, json.dumps(arguments)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"the pipeline {self._path} cannot be served: {result.stderr.strip()[-_MAX_TEXT:]}")
        return settings

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, DaliTask]]:
        """See Model."""
        missing = [name for name in self.INPUTS if name not in tensors]
        if missing:
            raise ValueError(f"{', '.join(missing)} is missing; the pipeline takes all of {', '.join(self.INPUTS)}")
        items = []
        for index in range(len(next(iter(tensors.values())))):
            row = {name: _plain(tensor[index]) for name, tensor in tensors.items()}
            places = dict(zip(row, lay_out((array.dtype.str, array.shape) for array in row.values()), strict=True))
            data = np.zeros(max(1, *(place.end for place in places.values())), np.uint8)
            for name, array in row.items():
                self.settings.check_input(array.nbytes, name)
                places[name].array(data)[...] = array
            described = {name: dataclasses.asdict(place) for name, place in places.items()}
            items.append((data, DaliTask(self._path, described)))
        return items

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """The outputs of all samples, each as one tensor."""
        batches = {}
        outputs = zip(*(outcome.arrays for outcome in outcomes), strict=True)
        for (name, dtype), samples in zip(self._outputs.items(), outputs, strict=True):
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
            batches[name] = np.stack(samples) if len(samples) > 1 else samples[0][np.newaxis]
        return Answer(batches, sum(batch.nbytes for batch in batches.values()))


def _plain(row: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A row in the form of DALI: an element of BYTES as its bytes."""
    if row.dtype != np.object_:
        return row
    if row.size != 1:
        raise ValueError(f"expected one element of BYTES a sample, got {row.size}")
    return np.frombuffer(text_of(row.reshape(-1)[0]), np.uint8)
