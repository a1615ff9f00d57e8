# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402  (signals come first, then the native module, to explain its absence)
"""Video and lossless codecs for deep learning: one core behind Python, NVIDIA DALI and Triton.

    import tricodec

    reader = tricodec.FrameReader("a.mp4")
    frames = reader[10:200:5]
    batch = reader.batch([3, 1, 4], size=(224, 224), dtype="float32", layout="CHW")

Messages go to ``logging.getLogger("tricodec")``. The environment variable TRICODEC_LOG (debug, info, warning, error,
off) sets its level. If the program has not configured logging, it also prints messages to standard error.
"""

from __future__ import annotations

from tricodec import _signals

_signals.end_quietly_while_importing()

from typing import TYPE_CHECKING, Any

from tricodec import _interpreter, _logging, errors

_interpreter.refuse_sub_interpreter()
_logging.configure()

try:
    from tricodec import _tricodec  # noqa: F401
except ImportError as _error:
    from tricodec._installation import explain

    raise ImportError(explain(_error)) from _error
_interpreter.refuse_no_lock()

from tricodec._av import DecodedAV, read_av
from tricodec._host_arrays import Bfloat16Array, asnumpy, pinned_empty
from tricodec._installation import cmake_dir, include_dir, library_path
from tricodec._limits import Limits, get_limits, set_limits
from tricodec._public import public_names
from tricodec._read_many import read_many
from tricodec._tricodec import (
    AudioEncoder,
    AudioReader,
    AudioSamples,
    ColorDescription,
    DecodeIssue,
    Decoder,
    Demuxer,
    DeviceArray,
    Encoder,
    Frame,
    FrameReader,
    FusionReport,
    MediaInfo,
    Muxer,
    Packet,
    Plane,
    ReadStats,
    StreamInfo,
    SwscaleRgb,
    Transform,
    __version__,
    build_info,
    describe_stream,
    encoder_for,
    encoder_names,
    picture_bytes,
    picture_type,
    pixel_formats,
    probe,
    resolve_device,
    sei_messages,
)
from tricodec._video import DecodedVideo, decode_video
from tricodec.errors import (
    CorruptDataError,
    DeviceError,
    Error,
    InternalError,
    MediaIOError,
    MediaNotFoundError,
    OutOfMemoryError,
    RefusedError,
    SourceChangedError,
    UnsupportedError,
)
from tricodec.measure import (
    AllocatorUse,
    MemoryEvent,
    MemoryRequired,
    MemoryTracker,
    Profiler,
    StageEvent,
    StageTime,
    TrackedAllocator,
    memory_required,
    memory_stats,
)

if TYPE_CHECKING:
    from tricodec import compress as compress
    from tricodec import data as data
    from tricodec import encode as encode
    from tricodec import scenes as scenes
    from tricodec._batcher import Batcher
    from tricodec._plan import Plan
    from tricodec._plan_context import PlanContext
    from tricodec._remote import (
        RemoteFile,
        RemoteSource,
        RemoteStats,
        is_remote_url,
        remote,
    )
    from tricodec._worker_pool import WorkerPool
    from tricodec.compress import Codec
    from tricodec.encode import TranscodeResult, encode_audio, encode_video, transcode


#: Name: the module that has it, which programs that only read videos do not need.
_IMPORTED_AT_FIRST_USE = {
    "Batcher": "tricodec._batcher",
    "Codec": "tricodec.compress",
    "Plan": "tricodec._plan",
    "PlanContext": "tricodec._plan_context",
    "WorkerPool": "tricodec._worker_pool",
    "RemoteFile": "tricodec._remote",
    "RemoteSource": "tricodec._remote",
    "RemoteStats": "tricodec._remote",
    "TranscodeResult": "tricodec.encode",
    "compress": "tricodec.compress",
    "data": "tricodec.data",
    "encode": "tricodec.encode",
    "encode_audio": "tricodec.encode",
    "encode_video": "tricodec.encode",
    "is_remote_url": "tricodec._remote",
    "remote": "tricodec._remote",
    "scenes": "tricodec.scenes",
    "transcode": "tricodec.encode",
}


def _hint(name: str) -> str:
    if name.startswith("_"):  # tools ask for names such as __wrapped__
        return ""
    from importlib.util import find_spec

    if find_spec(f"tricodec.{name}") is not None:
        return f" before `import tricodec.{name}`"
    from tricodec.options import meant

    return meant(name, __all__)


def __getattr__(name: str) -> Any:
    if name not in _IMPORTED_AT_FIRST_USE:
        raise AttributeError(f"module 'tricodec' has no attribute '{name}'{_hint(name)}")
    from importlib import import_module

    module = import_module(_IMPORTED_AT_FIRST_USE[name])
    if module.__name__ != f"tricodec.{name}":  # the import sets the attribute of a submodule itself
        globals()[name] = getattr(module, name)
    return globals()[name]


__all__ = [
    "AllocatorUse", "AudioEncoder", "AudioReader", "AudioSamples", "Batcher", "Bfloat16Array", "Codec",
    "ColorDescription", "CorruptDataError", "DecodeIssue", "DecodedAV", "DecodedVideo", "Decoder", "Demuxer",
    "DeviceArray", "DeviceError", "Encoder", "Error", "Frame", "FrameReader", "FusionReport", "InternalError", "Limits",
    "MediaIOError", "MediaInfo", "MediaNotFoundError", "MemoryEvent", "MemoryRequired", "MemoryTracker", "Muxer",
    "OutOfMemoryError", "Packet", "Plan", "PlanContext", "Plane", "Profiler", "ReadStats", "RefusedError", "RemoteFile",
    "RemoteSource", "RemoteStats", "SourceChangedError", "StageEvent", "StageTime", "StreamInfo", "SwscaleRgb",
    "TrackedAllocator", "TranscodeResult", "Transform", "UnsupportedError", "WorkerPool", "__version__", "asnumpy",
    "build_info", "cmake_dir", "compress", "data", "decode_video", "describe_stream", "encode_audio", "encode_video",
    "encoder_for", "encoder_names", "errors", "get_limits", "include_dir", "is_remote_url", "library_path",
    "memory_required", "memory_stats", "picture_bytes", "picture_type", "pinned_empty", "pixel_formats", "probe",
    "read_av", "read_many", "remote", "resolve_device", "sei_messages", "set_limits", "transcode",
]  # fmt: skip
__dir__ = public_names(globals())
