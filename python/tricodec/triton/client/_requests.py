# SPDX-License-Identifier: Apache-2.0
"""Options of a request as Triton's tensors, arrays on their way to a server, and tensors of an answer as arrays."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from tricodec.compress import BitshuffleMode, BitstreamKind, ChecksumPolicy, Codec
from tricodec.errors import Error, MediaNotFoundError
from tricodec.options import SELECTION_OPTIONS, TRANSFORM_OPTIONS
from tricodec.remote import is_remote_url
from tricodec.triton.client._connection import input_tensor
from tricodec.triton.client._memory import numpy_dtype

DECODE_OUTPUTS = {"uint8": "FRAMES", "float16": "FRAMES_FP16", "bfloat16": "FRAMES_BF16", "float32": "FRAMES_FP32"}
_DATATYPES = {
    "whole": "INT64", "number": "FP64", "flag": "BOOL", "text": "BYTES", "wholes": "INT64", "numbers": "FP64",
}  # fmt: skip
#: Options of a request by name: the tensor, its type, and the default, which is not sent. The output has the dtype.
DECODE_OPTIONS: dict[str, tuple[str, str, Any]] = {
    name: (name.upper(), _DATATYPES[option.type], option.default)
    for name, option in (SELECTION_OPTIONS | TRANSFORM_OPTIONS).items()
    if name != "dtype"
} | {"stream_index": ("STREAM", "INT64", -1)}
PROBE_OPTIONS = {"stream_index": DECODE_OPTIONS["stream_index"]}
STREAM_OPTIONS = DECODE_OPTIONS | {"chunk": ("CHUNK", "INT64", None)}
SESSION_OPTIONS = {"codec": ("CODEC", "BYTES", None)} | {
    option: entry for option, entry in DECODE_OPTIONS.items() if option not in SELECTION_OPTIONS
}
# Of a session: the frames to continue with. They are always sent together, so that defaults are among them.
CHOICE_OPTIONS: dict[str, tuple[str, str, Any]] = {
    **{name: (*DECODE_OPTIONS[name][:2], None) for name in SELECTION_OPTIONS},
    "skip": ("SKIP", "INT64", None),
}
PULL_OPTIONS: dict[str, tuple[str, str, Any]] = {
    "chunk": ("CHUNK", "INT64", None),
    "room": ("ROOM", "INT64", None),
    "flush": ("FLUSH", "BOOL", False),
}
# For each type of tensor: NumPy's dtype, and the kinds of arrays that convert to it without loss.
_ARRAYS: dict[str, tuple[Any, str]] = {
    "INT64": (np.int64, "iu"),
    "FP32": (np.float32, "fiu"),
    "FP64": (np.float64, "fiu"),
    "BOOL": (np.bool_, "b"),
    "BYTES": (np.object_, "U"),
}
_EXPECTED = {"INT64": "whole numbers", "FP32": "numbers", "FP64": "numbers", "BOOL": "True or False", "BYTES": "text"}


def option_tensors(
    options: Mapping[str, Any],
    table: Mapping[str, tuple[str, str, Any]],
    call: str,
    others: Sequence[str] = (),
    *,
    batched: bool = True,
) -> list[Any]:
    """Tensors for the options that differ from the defaults. With ``batched`` each has a batch axis of size 1."""
    tensors = []
    for option, value in options.items():
        if option not in table:
            raise TypeError(f"{call} has no option {option!r}; accepted: {', '.join([*table, *others])}")
        name, datatype, default = table[option]
        if value is None:
            continue
        dtype, kinds = _ARRAYS[datatype]
        if datatype == "INT64":
            _expect_64_bits(option, value)
        array = np.asarray(float(value) if isinstance(value, Fraction) else value)
        if array.dtype.kind not in kinds:
            raise TypeError(f"{option} is {value!r}; expected {_EXPECTED[datatype]}")
        if default is None or array.ndim > 0 or array.item() != default:
            shape = (1, -1) if batched else (-1,)
            tensors.append(input_tensor(name, array.astype(dtype).reshape(shape), datatype))
    return tensors


def _expect_64_bits(option: str, value: Any) -> None:
    """Raises ValueError for integers that do not fit a tensor of INT64."""
    for number in np.asarray(value, dtype=np.object_).reshape(-1):
        if isinstance(number, (int, np.integer)) and not -(2**63) <= int(number) < 2**63:
            raise ValueError(f"{option} holds {number}, which is out of range; it must be from -2^63 to 2^63 - 1")


def frames_output(dtype: Any, *, in_numpy: bool = True) -> str:
    """The name of the output with frames of a dtype.

    Raises:
        ValueError: the dtype is not one of `DECODE_OUTPUTS`.
        ImportError: numpy needs the package ml_dtypes for this dtype, and it is not installed.
    """
    output = DECODE_OUTPUTS.get(dtype_name(dtype))
    if output is None:
        raise ValueError(f"dtype is {dtype!r}; accepted: {', '.join(DECODE_OUTPUTS)}")
    if in_numpy:
        numpy_dtype(dtype_name(dtype))
    return output


def frames_of(result: Any, output: str) -> Any:
    """The frames of an answer as a numpy array with the shape of the output."""
    if output != DECODE_OUTPUTS["bfloat16"]:
        return result.as_numpy(output)
    # tritonclient would convert BF16 to float32, one number at a time.
    answer = result.get_response()
    index = [described.name for described in answer.outputs].index(output)
    bits = np.frombuffer(answer.raw_output_contents[index], numpy_dtype("bfloat16"))
    return bits.reshape(tuple(answer.outputs[index].shape))


def dtype_name(dtype: Any) -> str:
    """The name of a dtype, or the repr of anything that is no dtype."""
    if isinstance(dtype, str):
        return dtype
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        return repr(dtype)


def read(source: Any) -> bytes:
    """All bytes of a source: a path, bytes-like, or an object with ``read()``."""
    if isinstance(source, (str, os.PathLike)):
        with opened(source) as file:
            return file.read()
    reader: Callable[[], bytes] | None = getattr(source, "read", None)
    data = source if reader is None else reader()
    return data if isinstance(data, bytes) else bytes(memoryview(data))


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """A file, opened for reading.

    Raises:
        tricodec.MediaNotFoundError: there is none.
    """
    try:
        return cast(BinaryIO, Path(path).open("rb", buffering=0))
    except FileNotFoundError as error:
        raise MediaNotFoundError(f"no such file: {os.fspath(path)!r}") from error


def video_tensor(source: Any, *, batched: bool = True) -> Any:
    """The input with a source: VIDEO, all of its bytes, or URL for text that is a URL, which the server reads."""
    is_url = isinstance(source, str) and is_remote_url(source)
    data = source.encode() if is_url else read(source)
    return bytes_tensor("URL" if is_url else "VIDEO", data, batched=batched)


def bytes_tensor(name: str, data: bytes, *, batched: bool = True) -> Any:
    """An input with one element of bytes."""
    return input_tensor(name, np.array([[data]] if batched else [data], np.object_), "BYTES")


_ENCODER: dict[str, tuple[str, str, Any]] = {
    "codec": ("CODEC", "BYTES", "h264"),
    "container": ("CONTAINER", "BYTES", "mp4"),
    "pixel_format": ("PIXEL_FORMAT", "BYTES", None),
    "frame_rate": ("FRAME_RATE", "FP64", None),
    "bit_rate": ("BIT_RATE", "INT64", 0),
    "crf": ("CRF", "FP32", None),
    "gop_size": ("GOP_SIZE", "INT64", -1),
    "num_b_frames": ("NUM_B_FRAMES", "INT64", -1),
    "preset": ("PRESET", "BYTES", None),
    "num_threads": ("NUM_THREADS", "INT64", 1),
    "options": ("OPTIONS", "BYTES", None),
    "fast_start": ("FAST_START", "BOOL", False),
    "fragmented": ("FRAGMENTED", "BOOL", False),
}
ENCODE_OPTIONS: dict[str, tuple[str, str, Any]] = {
    "color": ("COLOR", "BYTES", "rgb"),
    "layout": ("LAYOUT", "BYTES", "HWC"),
    "format": ("FORMAT", "BYTES", None),
    "matrix": ("MATRIX", "BYTES", None),
    "range": ("RANGE", "BYTES", None),
    "rotation": ("ROTATION", "INT64", 0),
    **_ENCODER,
}
TRANSCODE_OPTIONS: dict[str, tuple[str, str, Any]] = {
    "crop": ("CROP", "INT64", None),
    "size": ("SIZE", "INT64", None),
    "start": ("START_SECONDS", "FP64", None),
    "end": ("END_SECONDS", "FP64", None),
    "audio": ("AUDIO", "BOOL", True),
    **_ENCODER,
}


def encoder_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of an encoder with values that fit tensors: "name=value" for options, a number for a rate."""
    values = dict(options)
    if values.get("options") is not None:
        values["options"] = [f"{name}={value}" for name, value in dict(values["options"]).items()] or None
    rate = values.get("frame_rate")
    if rate is not None:
        values["frame_rate"] = rate[0] / rate[1] if isinstance(rate, tuple) else float(rate)
    return values


def frames_tensor(frames: Any, format: str | None) -> tuple[str, Any, str]:
    """The model's input for an array of frames: its name, the array with a batch axis, and its type.

    Raises:
        TypeError: the elements are neither uint8 nor uint16.
        ValueError: the model has no input of this shape.
    """
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
    return name, array[np.newaxis], "UINT16" if deep else "UINT8"


CODEC_OPTIONS: dict[str, tuple[str, str, Any]] = {
    "algorithm": ("ALGORITHM", "BYTES", None),
    "bitstream_kind": ("BITSTREAM_KIND", "BYTES", None),
    "checksum_policy": ("CHECKSUM_POLICY", "BYTES", None),
    "data_type": ("DATA_TYPE", "BYTES", None),
    "bitshuffle_mode": ("BITSHUFFLE_MODE", "BYTES", None),
    "uncomp_chunk_size": ("UNCOMP_CHUNK_SIZE", "INT64", None),
    "algorithm_type": ("ALGORITHM_TYPE", "INT64", None),
    "level": ("LEVEL", "INT64", None),
    "num_rles": ("NUM_RLES", "INT64", None),
    "num_deltas": ("NUM_DELTAS", "INT64", None),
    "use_bitpack": ("USE_BITPACK", "BOOL", None),
    "dtype": ("DTYPE", "BYTES", None),
    "shape": ("SHAPE", "INT64", None),
    "header": ("HEADER", "BOOL", False),
}
_ENUMS: dict[str, type[enum.Enum]] = {
    "bitstream_kind": BitstreamKind,
    "checksum_policy": ChecksumPolicy,
    "bitshuffle_mode": BitshuffleMode,
}
_HEADER_ROOM = 4096  # more bytes than a header with 64 axes


def codec_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a codec with names instead of enumeration members and dtypes."""
    sent = {name: value.name if isinstance(value, enum.Enum) else value for name, value in options.items()}
    for name in ("dtype", "data_type"):
        if sent.get(name) is not None and not isinstance(sent[name], str):
            sent[name] = np.dtype(sent[name]).str
    return sent


def flat_bytes(array: Any) -> npt.NDArray[np.uint8]:
    """The bytes of an array with a batch axis, uint8 [1, N]."""
    return np.asarray(array, order="C").reshape(-1).view(np.uint8)[np.newaxis]


def most_compressed(num_bytes: int, options: Mapping[str, Any]) -> int | None:
    """The largest possible compressed size in bytes; None for options that the server will refuse."""
    try:
        return _codec(options).compression_config(num_bytes + _HEADER_ROOM).max_compressed_sizes[0]
    except (Error, ValueError, TypeError, KeyError):
        return None


def decompressed_bytes(data: npt.NDArray[np.uint8], options: Mapping[str, Any]) -> int | None:
    """The decompressed size in bytes from the header of the data; None for data without one."""
    if str(options.get("bitstream_kind") or "NVCOMP_NATIVE").upper() == "RAW":
        return None
    try:
        return _codec(options).get_uncomp_buffer_size(data) or None
    except (Error, ValueError, TypeError, KeyError):
        return None


def _codec(options: Mapping[str, Any]) -> Codec:
    keywords = {name: value for name, value in options.items() if name not in ("dtype", "shape", "header")}
    for name, members in _ENUMS.items():
        if keywords.get(name) is not None:
            keywords[name] = members[str(keywords[name]).upper()]
    return Codec(**keywords, device="cpu")
