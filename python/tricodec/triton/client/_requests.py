# SPDX-License-Identifier: Apache-2.0
"""Options of a request as Triton's tensors, arrays on their way to a server, and tensors of an answer as arrays."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tricodec.errors import MediaNotFoundError
from tricodec.options import SELECTION_OPTIONS, TRANSFORM_OPTIONS
from tricodec.remote import is_remote_url
from tricodec.show import needed
from tricodec.triton.client._connection import input_tensor
from tricodec.video import DecodedVideo

_OUTPUTS = {"uint8": "FRAMES", "float16": "FRAMES_FP16", "bfloat16": "FRAMES_BF16", "float32": "FRAMES_FP32"}
_DATATYPES = {
    "whole": "INT64", "number": "FP64", "flag": "BOOL", "text": "BYTES", "wholes": "INT64", "numbers": "FP64",
}  # fmt: skip
#: For each type of tensor: NumPy's dtype, the kinds of arrays that convert to it without loss, and what they are.
_ARRAYS: dict[str, tuple[Any, str, str]] = {
    "INT64": (np.int64, "iu", "whole numbers"),
    "FP32": (np.float32, "fiu", "numbers"),
    "FP64": (np.float64, "fiu", "numbers"),
    "BOOL": (np.bool_, "b", "True or False"),
    "BYTES": (np.object_, "U", "text"),
}

Table = Mapping[str, tuple[str, str, Any]]
"""By option: the tensor, its type, and the default, which is not sent. None sends every value."""


def _sent(**names: str) -> dict[str, tuple[str, str, Any]]:
    """A table of options that are always sent, from their names by the type of the tensor."""
    return {name: (name.upper(), datatype, None) for datatype, listed in names.items() for name in listed.split()}


_DECODE: Table = {
    name: (name.upper(), _DATATYPES[option.type], option.default)
    for name, option in (SELECTION_OPTIONS | TRANSFORM_OPTIONS).items()
    if name != "dtype"  # the output has it
} | {"stream_index": ("STREAM", "INT64", -1)}
_ENCODE = _sent(
    BYTES="codec container pixel_format preset options", FP64="frame_rate", FP32="crf",
    INT64="bit_rate gop_size num_b_frames num_threads", BOOL="fast_start fragmented",
)  # fmt: skip
_CODEC: Table = {
    **_sent(
        BYTES="algorithm bitstream_kind checksum_policy data_type bitshuffle_mode dtype",
        INT64="uncomp_chunk_size algorithm_type level num_rles num_deltas shape",
        BOOL="use_bitpack",
    ),
    "header": ("HEADER", "BOOL", False),
}
#: By the method of the client. "seek" has the frames that a session continues with: they are always sent together, so
#: that defaults are among them.
_OPTIONS: Mapping[str, Table] = {
    "probe": {"stream_index": _DECODE["stream_index"]},
    "decode_video": _DECODE,
    "stream_video": {**_DECODE, **_sent(INT64="chunk")},
    "open": _sent(BYTES="codec") | {name: _DECODE[name] for name in _DECODE if name not in SELECTION_OPTIONS},
    "seek": {**{name: (*_DECODE[name][:2], None) for name in SELECTION_OPTIONS}, **_sent(INT64="skip")},
    "read": {**_sent(INT64="chunk"), "flush": ("FLUSH", "BOOL", False)},
    "encode_video": {**_sent(BYTES="color layout format matrix range", INT64="rotation"), **_ENCODE},
    "transcode": {
        **_sent(INT64="crop size", BOOL="audio"),
        "start": ("START_SECONDS", "FP64", None),
        "end": ("END_SECONDS", "FP64", None),
        **_ENCODE,
    },
    "compress": _CODEC,
    "decompress": _CODEC,
}
_WITHOUT_BATCH = ("stream_video", "open", "seek", "read")


def option_tensors(call: str, options: Mapping[str, Any], others: Sequence[str] = ()) -> list[Any]:
    """Tensors for the options of a method that differ from the defaults. The method takes `others` too."""
    table, shape = _OPTIONS[call], (-1,) if call in _WITHOUT_BATCH else (1, -1)
    tensors = []
    for option, value in options.items():
        if option not in table:
            raise TypeError(f"{call} has no option {option!r}; accepted: {', '.join([*table, *others])}")
        name, datatype, default = table[option]
        if value is None:
            continue
        dtype, kinds, expected = _ARRAYS[datatype]
        if datatype == "INT64":
            _expect_64_bits(option, value)
        array = np.asarray(float(value) if isinstance(value, Fraction) else value)
        if array.dtype.kind not in kinds:
            raise TypeError(f"{option} is {value!r}; expected {expected}")
        if default is None or array.ndim > 0 or array.item() != default:
            tensors.append(input_tensor(name, array.astype(dtype).reshape(shape), datatype))
    return tensors


def _expect_64_bits(option: str, value: Any) -> None:
    """Raises ValueError for integers that do not fit a tensor of INT64."""
    for number in np.asarray(value, dtype=np.object_).reshape(-1):
        if isinstance(number, (int, np.integer)) and not -(2**63) <= int(number) < 2**63:
            raise ValueError(f"{option} holds {number}, which is out of range; it must be from -2^63 to 2^63 - 1")


def frames_output(dtype: Any) -> str:
    """The name of the output with frames of a dtype."""
    try:
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in _OUTPUTS:
        raise ValueError(f"dtype is {dtype!r}; accepted: {', '.join(_OUTPUTS)}")
    if name == "bfloat16":
        _bfloat16()
    return _OUTPUTS[name]


def _bfloat16() -> Any:
    return needed("ml_dtypes", "ml_dtypes", "arrays of bfloat16").bfloat16


def video_of(result: Any, output: str) -> DecodedVideo:
    """The frames of an answer, their times, and the number of damaged packets."""
    damaged = int(result.as_numpy("NUM_DAMAGED_PACKETS").item())
    return DecodedVideo(_frames_of(result, output), result.as_numpy("PTS"), damaged)


def _frames_of(result: Any, output: str) -> Any:
    """The frames as a numpy array with the shape of the output."""
    if output != _OUTPUTS["bfloat16"]:
        return result.as_numpy(output)
    # tritonclient would convert BF16 to float32, one number at a time.
    answer = result.get_response()
    index = [described.name for described in answer.outputs].index(output)
    bits = np.frombuffer(answer.raw_output_contents[index], _bfloat16())
    return bits.reshape(tuple(answer.outputs[index].shape))


def video_tensor(source: Any, *, batched: bool = True) -> Any:
    """The input with a source: VIDEO, all of its bytes, or URL for text that is a URL, which the server reads."""
    is_url = isinstance(source, str) and is_remote_url(source)
    data = source.encode() if is_url else _read(source)
    return bytes_tensor("URL" if is_url else "VIDEO", data, batched=batched)


def _read(source: Any) -> bytes:
    """All bytes of a source: a path, bytes-like, or an object with ``read()``."""
    if isinstance(source, (str, os.PathLike)):
        try:
            return Path(source).read_bytes()
        except FileNotFoundError as error:
            raise MediaNotFoundError(f"no such file: {os.fspath(source)!r}") from error
    reader: Callable[[], bytes] | None = getattr(source, "read", None)
    data = source if reader is None else reader()
    return data if isinstance(data, bytes) else bytes(memoryview(data))


def bytes_tensor(name: str, data: bytes, *, batched: bool = True) -> Any:
    """An input with one element of bytes."""
    return input_tensor(name, np.array([[data]] if batched else [data], np.object_), "BYTES")


def encoder_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of an encoder with values that fit tensors: "name=value" for options, a number for a rate."""
    values = dict(options)
    if values.get("options") is not None:
        values["options"] = [f"{name}={value}" for name, value in dict(values["options"]).items()] or None
    rate = values.get("frame_rate")
    if rate is not None:
        values["frame_rate"] = rate[0] / rate[1] if isinstance(rate, tuple) else float(rate)
    return values


def frames_tensor(frames: Any, format: str | None) -> Any:
    """The model's input for an array of frames."""
    array = np.ascontiguousarray(frames)
    if array.dtype not in (np.uint8, np.uint16):
        raise TypeError(
            f"frames have dtype {array.dtype}; frames to encode are uint8, 0 to 255, and raw planes of more than 8 "
            "bits uint16"
        )
    deep = array.dtype == np.uint16
    # A single picture gets the axis of frames.
    axes = 2 if format is not None and array.ndim < 4 else 3
    if array.ndim == axes:
        array = array[np.newaxis]
    if array.ndim != axes + 1 or (deep and array.ndim != 3):
        raise ValueError(
            f"frames have shape {array.shape}; the server takes [F, H, W, C], [F, C, H, W], or with format= raw "
            "planes, [F, H * 3 / 2, W] and the like"
        )
    name = "FRAMES" if array.ndim == 4 else "PLANES_UINT16" if deep else "PLANES"
    return input_tensor(name, array[np.newaxis], "UINT16" if deep else "UINT8")


def codec_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a codec with names instead of enumeration members and dtypes."""
    sent = {name: value.name if isinstance(value, enum.Enum) else value for name, value in options.items()}
    for name in ("dtype", "data_type"):
        if sent.get(name) is not None and not isinstance(sent[name], str):
            sent[name] = np.dtype(sent[name]).str
    return sent


def array_tensor(name: str, array: Any) -> Any:
    """An input with the bytes of an array, uint8 [1, N]."""
    return input_tensor(name, np.asarray(array, order="C").reshape(-1).view(np.uint8)[np.newaxis], "UINT8")
