# SPDX-License-Identifier: Apache-2.0
"""A program that makes the calls of NVIDIA's dali_backend to DALI's C interface, and imports neither DALI nor tricodec.

python dali_backend_calls.py DALI PLUGIN RECIPE BATCH OUTPUTS

The calls and their order are those of src/dali_executor/dali_pipeline.{h,cc} of the backend: it loads `plugin_libs`,
makes the pipeline of the recipe, feeds a batch to the external sources, runs it once and copies the outputs. DALI is
the folder of its libraries. BATCH and OUTPUTS are .npz files: an array for each input, the samples first, and an array
for each output.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np

_CPU, _CPU_ONLY, _FORCE_NO_COPY = 0, -99999, 1 << 4
_TYPES = {"uint8": 0, "int32": 6, "int64": 7, "float32": 9, "float64": 10}


def main(dali: Path, plugin: str, recipe: Path, batch: Path, outputs: Path) -> None:
    for name in ("core", "kernels"):
        ctypes.CDLL(str(dali / f"libdali_{name}.so"), ctypes.RTLD_GLOBAL)
    api: Any = ctypes.CDLL(str(dali / "libdali.so"), ctypes.RTLD_GLOBAL)
    operators: Any = ctypes.CDLL(str(dali / "libdali_operators.so"), ctypes.RTLD_GLOBAL)
    api.daliGetExternalInputName.restype = api.daliGetOutputName.restype = ctypes.c_char_p
    api.daliShapeAtSample.restype = ctypes.POINTER(ctypes.c_int64)
    api.daliNumTensors.restype = api.daliMaxDimTensors.restype = ctypes.c_size_t

    api.daliInitialize()
    operators.daliInitOperators()
    api.daliLoadLibrary(plugin.encode())

    text = recipe.read_bytes()
    assert api.daliIsDeserializable(text, len(text)) == 0
    handle = ctypes.c_void_p()
    pipe = ctypes.byref(handle)
    inputs = dict(np.load(batch))  # kept until the end: DALI takes no copy
    num_samples = min(len(array) for array in inputs.values())
    api.daliCreatePipeline(pipe, text, len(text), num_samples, 2, _CPU_ONLY, 0, 1, 0, 0, 0)

    for i in range(api.daliGetNumExternalInput(pipe)):
        name = api.daliGetExternalInputName(pipe, i)
        data = inputs[name.decode()]
        shapes = np.array([data.shape[1:]] * num_samples, np.int64)
        api.daliSetExternalInputBatchSize(pipe, name, num_samples)
        api.daliSetExternalInput(
            pipe, name, _CPU, ctypes.c_void_p(data.ctypes.data), _TYPES[str(data.dtype)],
            ctypes.c_void_p(shapes.ctypes.data), shapes.shape[1], None, _FORCE_NO_COPY,
        )  # fmt: skip
    api.daliOutputRelease(pipe)
    api.daliRun(pipe)
    api.daliOutput(pipe)

    found = {}
    for i in range(api.daliGetNumOutput(pipe)):
        assert api.daliNumTensors(pipe, i) == num_samples
        shape = [api.daliShapeAtSample(pipe, i, 0)[axis] for axis in range(api.daliMaxDimTensors(pipe, i))]
        dtype = {number: name for name, number in _TYPES.items()}[api.daliTypeAt(pipe, i)]
        array = np.empty((num_samples, *shape), dtype)
        api.daliOutputCopy(pipe, ctypes.c_void_p(array.ctypes.data), i, _CPU, None, 0)
        found[f"output{i}"] = array
    np.savez(outputs, **found)
    api.daliDeletePipeline(pipe)
    assert not {"nvidia.dali", "tricodec"} & sys.modules.keys()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(Path, sys.argv[3:6]))
