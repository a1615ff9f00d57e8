# SPDX-License-Identifier: Apache-2.0
"""Words of a request as Triton's tensors, and tensors of an answer as arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tricodec
from tricodec._client_memory import numpy_dtype
from tricodec._client_triton import triton_grpc

DECODE_OUTPUTS = {"uint8": "FRAMES", "float16": "FRAMES_FP16", "bfloat16": "FRAMES_BF16", "float32": "FRAMES_FP32"}
# Word of the request: its tensor, the tensor's type, and the default, which is not sent.
DECODE_WORDS: dict[str, tuple[str, str, Any]] = {
    "start": ("START", "INT64", 0),
    "stride": ("STRIDE", "INT64", 1),
    "count": ("COUNT", "INT64", -1),
    "stream_index": ("STREAM", "INT64", -1),
    "crop": ("CROP", "INT64", None),
    "size": ("SIZE", "INT64", None),
    "resize": ("RESIZE", "BYTES", "bilinear"),
    "antialias": ("ANTIALIAS", "BOOL", True),
    "color": ("COLOR", "BYTES", "rgb"),
    "matrix": ("MATRIX", "BYTES", None),
    "range": ("RANGE", "BYTES", None),
    "unspecified": ("UNSPECIFIED", "BYTES", "bt601"),
    "rotate": ("ROTATE", "BOOL", True),
    "layout": ("LAYOUT", "BYTES", "HWC"),
    "scale": ("SCALE", "FP32", None),
    "mean": ("MEAN", "FP32", None),
    "std": ("STD", "FP32", None),
}
STREAM_WORDS = DECODE_WORDS | {"chunk": ("CHUNK", "INT64", None)}
# What NumPy makes of an option's value, by type: its dtype, and the kinds of arrays that convert without loss.
_ARRAYS: dict[str, tuple[Any, str]] = {
    "INT64": (np.int64, "iu"),
    "FP32": (np.float32, "fiu"),
    "FP64": (np.float64, "fiu"),
    "BOOL": (np.bool_, "b"),
    "BYTES": (np.object_, "U"),
}
_EXPECTED = {"INT64": "whole numbers", "FP32": "numbers", "FP64": "numbers", "BOOL": "True or False", "BYTES": "a word"}


def option_tensors(
    options: Mapping[str, Any],
    table: Mapping[str, tuple[str, str, Any]],
    call: str,
    others: Sequence[str] = (),
    *,
    batched: bool = True,
) -> list[Any]:
    """Tensors for the options that are not the defaults, each with a batch dimension of one if the model has it."""
    tensors = []
    for word, value in options.items():
        if word not in table:
            raise TypeError(f"{call} has no option {word!r}; accepted: {', '.join([*table, *others])}")
        name, datatype, default = table[word]
        if value is None:
            continue
        dtype, kinds = _ARRAYS[datatype]
        if datatype == "INT64":
            _expect_64_bits(word, value)
        array = np.asarray(value)
        if array.dtype.kind not in kinds:
            raise TypeError(f"{word} is {value!r}; expected {_EXPECTED[datatype]}")
        if default is None or array.ndim > 0 or array.item() != default:
            shape = (1, -1) if batched else (-1,)
            tensors.append(input_tensor(name, array.astype(dtype).reshape(shape), datatype))
    return tensors


def _expect_64_bits(word: str, value: Any) -> None:
    """Raises ValueError for integers that a tensor would hold the lower bits of."""
    for number in np.asarray(value, dtype=np.object_).reshape(-1):
        if isinstance(number, (int, np.integer)) and not -(2**63) <= int(number) < 2**63:
            raise ValueError(f"{word} holds {number}, which is out of range; it must be from -2^63 to 2^63 - 1")


def frames_output(dtype: Any, *, in_numpy: bool = True) -> str:
    """The output that gives frames of a dtype.

    Raises:
        ValueError: if none does.
        ImportError: if numpy has no such dtype, nor any package that is here.
    """
    output = DECODE_OUTPUTS.get(dtype_name(dtype))
    if output is None:
        raise ValueError(f"dtype is {dtype!r}; accepted: {', '.join(DECODE_OUTPUTS)}")
    if in_numpy:
        numpy_dtype(dtype_name(dtype))
    return output


def frames_of(result: Any, output: str) -> Any:
    """The frames of an answer, as the output is shaped, as an array of numpy or ml_dtypes."""
    if output != DECODE_OUTPUTS["bfloat16"]:
        return result.as_numpy(output)
    # tritonclient makes float32 of BF16, number by number.
    answer = result.get_response()
    index = [described.name for described in answer.outputs].index(output)
    bits = np.frombuffer(answer.raw_output_contents[index], numpy_dtype("bfloat16"))
    return bits.reshape(tuple(answer.outputs[index].shape))


def input_tensor(name: str, array: Any, datatype: str) -> Any:
    """A tensor of a request with an array in it."""
    made = triton_grpc.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def dtype_name(dtype: Any) -> str:
    """A dtype's name, however it is given; what is none is shown as it is."""
    if isinstance(dtype, str):
        return dtype
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        return repr(dtype)


def read(source: Any) -> bytes:
    """All bytes of a path, bytes-like or object with read()."""
    if isinstance(source, (str, os.PathLike)):
        try:
            return Path(source).read_bytes()
        except FileNotFoundError as error:
            raise tricodec.MediaNotFoundError(f"no such file: {os.fspath(source)!r}") from error
    reader: Callable[[], bytes] | None = getattr(source, "read", None)
    return bytes(reader() if reader is not None else memoryview(source))
