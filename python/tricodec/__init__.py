# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402  (what cannot work is refused before the native module is imported)
"""Video and lossless codecs for deep learning: one core behind Python, NVIDIA DALI and Triton.

    import tricodec

    reader = tricodec.FrameReader("a.mp4")
    frames = reader[10:200:5]
    batch = reader.batch([3, 1, 4], size=(224, 224), dtype="float32", layout="CHW")

The names here are those that programs write most. Classes of results and functions that few programs need are in
`tricodec.video`, `audio`, `encode`, `compress`, `remote`, `serving`, `measure` and the other modules.

Messages go to ``logging.getLogger("tricodec")``. The environment variable TRICODEC_LOG (debug, info, warning, error,
off) sets its level. If the program has not configured logging, it also prints messages to standard error.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tricodec import errors, installation

installation.refuse_sub_interpreter()
installation.configure_logging()

try:
    from tricodec import _tricodec  # noqa: F401
except ImportError as _error:
    raise ImportError(installation.explain(_error)) from _error
installation.refuse_no_lock()

from tricodec._tricodec import (
    AudioReader,
    Decoder,
    Demuxer,
    DeviceArray,
    Encoder,
    Frame,
    FrameReader,
    Muxer,
    Packet,
    Transform,
    __version__,
    build_info,
    probe,
)
from tricodec.arrays import asnumpy, pinned_empty
from tricodec.errors import (
    CorruptDataError,
    DeviceError,
    Error,
    MediaIOError,
    MediaNotFoundError,
    OutOfMemoryError,
    RefusedError,
    UnsupportedError,
)
from tricodec.limits import get_limits, set_limits
from tricodec.video import DecodedVideo, decode_video, read_many

if TYPE_CHECKING:
    from tricodec import audio, compress, data, encode, io, measure, node, remote, serving
    from tricodec.audio import read_av
    from tricodec.compress import Codec
    from tricodec.encode import encode_audio, encode_video, sample_video, transcode
    from tricodec.measure import Profiler, memory_stats
    from tricodec.remote import open_remote
    from tricodec.serving import Batcher, Plan, WorkerPool

#: Modules, and names with the module that has them, which programs that only read videos do not need.
_MODULES = ("audio", "compress", "data", "encode", "io", "measure", "node", "remote", "serving")
_NAMES = {
    "Batcher": "serving", "Codec": "compress", "Plan": "serving", "Profiler": "measure", "WorkerPool": "serving",
    "encode_audio": "encode", "encode_video": "encode", "memory_stats": "measure", "open_remote": "remote",
    "read_av": "audio", "sample_video": "encode", "transcode": "encode",
}  # fmt: skip


def _hint(name: str) -> str:
    if name.startswith("_"):  # tools ask for names such as __wrapped__
        return ""
    from importlib.util import find_spec

    if find_spec(f"tricodec.{name}") is not None:
        return f" before `import tricodec.{name}`"
    from tricodec.options import meant

    return meant(name, __all__)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:  # the import sets the attribute
        return import_module(f"tricodec.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module 'tricodec' has no attribute '{name}'{_hint(name)}")
    globals()[name] = getattr(import_module(f"tricodec.{_NAMES[name]}"), name)
    return globals()[name]


__all__ = [
    "AudioReader", "Batcher", "Codec", "CorruptDataError", "DecodedVideo", "Decoder", "Demuxer", "DeviceArray",
    "DeviceError", "Encoder", "Error", "Frame", "FrameReader", "MediaIOError", "MediaNotFoundError", "Muxer",
    "OutOfMemoryError", "Packet", "Plan", "Profiler", "RefusedError", "Transform", "UnsupportedError", "WorkerPool",
    "__version__", "asnumpy", "audio", "build_info", "compress", "data", "decode_video", "encode", "encode_audio",
    "encode_video", "errors", "get_limits", "io", "measure", "memory_stats", "node", "open_remote", "pinned_empty",
    "probe", "read_av", "read_many", "remote", "sample_video", "serving", "set_limits", "transcode",
]  # fmt: skip


def __dir__() -> list[str]:
    own = (name for name in globals() if name.startswith("__") or name in ("dali", "triton", "video"))
    return sorted({*__all__, *own})


if os.environ.get("TRICODEC_NODE", "off") not in ("off", ""):
    from tricodec.node import use_of_environment

    use_of_environment()
