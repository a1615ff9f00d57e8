# SPDX-License-Identifier: Apache-2.0
"""Calls of tricodec and tricodec.io with arguments that nothing expects, each in a process that may end.

python random_calls.py FIRST COUNT   makes the calls of so many seeds; prints each and what is wrong, in JSON.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import io
import json
import os
import random
import resource
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import damaged_clips
import numpy as np
import tricodec
import tricodec.io
from random_values import HostileError, hostile, told
from tricodec import nvcomp

MEMORY_BYTES = 6 << 30
SECONDS = 60
"""Of one call; a process that takes longer ends itself, which is a failure."""

DOCUMENTED = (tricodec.Error, TypeError, ValueError, IndexError, HostileError, OSError, MemoryError, BufferError)
"""docs/reference/python.md, Errors; BufferError is DLPack's and the buffer protocol's."""

Kwargs = dict[str, Any]


def clip() -> bytes:
    """A video of 12 frames."""
    return damaged_clips.made("h264.mp4", damaged_clips.SMALL["h264.mp4"], seconds=0.48).read_bytes()


def pictures() -> np.ndarray:
    """Four pictures of 32x32."""
    return np.arange(4 * 32 * 32 * 3, dtype=np.uint8).reshape(4, 32, 32, 3)


def _packet() -> tricodec.Packet:
    packet = tricodec.Demuxer(clip()).read()
    assert packet is not None
    return packet


def _writer() -> tricodec.io.StreamWriter:
    writer = tricodec.io.StreamWriter(io.BytesIO(), format="matroska")
    writer.add_video_stream(25, 32, 32, format="rgb24", encoder="mpeg4", encoder_format="yuv420p")
    return writer


def _opened_writer() -> tricodec.io.StreamWriter:
    writer = _writer()
    writer.open()
    return writer


def _stream_reader() -> tricodec.io.StreamReader:
    reader = tricodec.io.StreamReader(clip())
    reader.add_basic_video_stream(2)
    reader.process_packet()
    return reader


def _muxer() -> tricodec.Muxer:
    muxer = tricodec.Muxer(None, format="mp4")
    muxer.add_stream(tricodec.Demuxer(clip()).stream)
    return muxer


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[], Kwargs]]] = {
    "FrameReader": (tricodec.FrameReader, lambda: {"source": clip()}),
    "Demuxer": (tricodec.Demuxer, lambda: {"source": clip()}),
    "Decoder": (tricodec.Decoder, lambda: {"stream": "h264"}),
    "Encoder": (tricodec.Encoder, lambda: {"codec": "h264", "width": 32, "height": 32}),
    "Muxer": (tricodec.Muxer, lambda: {"target": None, "format": "mp4"}),
    "Transform": (tricodec.Transform, dict),
    "Packet": (tricodec.Packet, lambda: {"data": b"x"}),
    "Frame.from_planes": (tricodec.Frame.from_planes, lambda: {"planes": [np.zeros((32, 32, 3), np.uint8)]}),
    "Profiler": (tricodec.Profiler, dict),
    "MemoryTracker": (tricodec.MemoryTracker, dict),
    "Bfloat16Array": (tricodec.Bfloat16Array, dict),
    "compress.Codec": (tricodec.compress.Codec, lambda: {"algorithm": "LZ4"}),
    "nvcomp.as_array": (nvcomp.as_array, lambda: {"source": b"abc"}),
    "nvcomp.as_arrays": (nvcomp.as_arrays, lambda: {"sources": [b"abc"]}),
    "nvcomp.from_dlpack": (nvcomp.from_dlpack, lambda: {"source": np.zeros(3)}),
    "decode_video": (tricodec.decode_video, lambda: {"source": clip()}),
    "encode_video": (tricodec.encode_video, lambda: {"frames": pictures()}),
    "transcode": (tricodec.transcode, lambda: {"source": clip(), "target": io.BytesIO(), "format": "mp4"}),
    "probe": (tricodec.probe, lambda: {"source": clip()}),
    "describe_stream": (tricodec.describe_stream, lambda: {"codec": "h264", "width": 32, "height": 32}),
    "sei_messages": (tricodec.sei_messages, lambda: {"packet": _packet(), "stream_or_codec": "h264"}),
    "picture_bytes": (tricodec.picture_bytes, lambda: {"format": "nv12", "width": 4, "height": 4}),
    "picture_type": (tricodec.picture_type, lambda: {"packet": _packet()}),
    "encoder_for": (tricodec.encoder_for, lambda: {"codec": "h264"}),
    "resolve_device": (tricodec.resolve_device, lambda: {"request": "auto"}),
    "set_limits": (tricodec.set_limits, dict),
    "pinned_empty": (tricodec.pinned_empty, lambda: {"shape": (3,)}),
    "memory_required": (tricodec.memory_required, lambda: {"source": clip()}),
    "io.StreamReader": (tricodec.io.StreamReader, lambda: {"src": clip()}),
    "io.StreamWriter": (tricodec.io.StreamWriter, lambda: {"dst": io.BytesIO(), "format": "matroska"}),
    "io.CodecConfig": (tricodec.io.CodecConfig, dict),
}
"""Functions and classes with arguments that they accept; some of these are replaced."""

OBJECTS: dict[str, Callable[[], Any]] = {
    "FrameReader": lambda: tricodec.FrameReader(clip(), device="cpu"),
    "Demuxer": lambda: tricodec.Demuxer(clip()),
    "Decoder": lambda: tricodec.Decoder("h264", device="cpu"),
    "Encoder": lambda: tricodec.Encoder(codec="h264", width=32, height=32),
    "Muxer": _muxer,
    "Transform": lambda: tricodec.Transform(size=(16, 16)),
    "Frame": lambda: tricodec.FrameReader(clip(), device="cpu")[0],
    "Plane": lambda: tricodec.FrameReader(clip(), device="cpu")[0].planes[0],
    "Packet": _packet,
    "StreamInfo": lambda: tricodec.probe(clip()).streams[0],
    "Profiler": lambda: tricodec.Profiler().__enter__(),
    "compress.Codec": lambda: tricodec.compress.Codec(algorithm="LZ4", device="cpu"),
    "compress.Codec of Zstd": lambda: tricodec.compress.Codec(algorithm="Zstd", device="cpu"),
    "nvcomp.Array": lambda: nvcomp.as_array(np.zeros(40, np.uint8)),
    "io.StreamReader": _stream_reader,
    "io.StreamWriter": _writer,
    "io.StreamWriter, open": _opened_writer,
}
"""Objects with methods that are called."""

# They wait for what does not come here, leave the process, or take the address of memory on trust.
LEFT_OUT = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__reduce__", "__reduce_ex__", "__del__"}
LEFT_OUT |= {"__getattribute__", "__setattr__", "__delattr__", "__dir__", "__sizeof__", "__release_buffer__"}


@functools.cache
def _stub_parameters() -> dict[tuple[str, str], list[str]]:
    """Of each class and method of the extension module, the names of the parameters, as its stub has them."""
    tree = ast.parse((Path(tricodec.__file__).parent / "_tricodec.pyi").read_text())
    found: dict[tuple[str, str], list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found["", node.name] = [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    names = [arg.arg for arg in (*method.args.args, *method.args.kwonlyargs)]
                    found[node.name, method.name] = names[1:] if names[:1] == ["self"] else names
    return found


def parameters(owner: str, name: str, function: Callable[..., Any]) -> list[str]:
    """The names that a call may use."""
    known = _stub_parameters().get((owner, name))
    if known is not None:
        return known
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, each in signature.parameters.items() if each.kind in kinds and name != "self"]


def _call_of_function(rng: random.Random) -> tuple[str, Callable[[], Any]]:
    name, (function, base) = rng.choice(list(FUNCTIONS.items()))
    names = parameters(name, "__init__", function) or parameters("", name, function) or list(base())
    names = names or [name]
    keywords = base()
    options = (
        ["layout", "dtype", "size", "crop", "mean", "std", "color"] if name in {"decode_video", "Transform"} else []
    )
    changed = {rng.choice([*names, *options]): hostile(rng) for _ in range(rng.choice((1, 1, 2, 3)))}
    keywords |= changed
    text = ", ".join(f"{key}={told(value)}" for key, value in changed.items())
    return f"{name}({text})", lambda: function(**keywords)


def _call_of_method(rng: random.Random) -> tuple[str, Callable[[], Any]]:
    name, make = rng.choice(list(OBJECTS.items()))
    target = make()
    methods = [each for each in dir(type(target)) if not (each.startswith("_") and not each.endswith("__"))]
    methods = [each for each in methods if each not in LEFT_OUT and callable(getattr(type(target), each, None))]
    method = rng.choice(methods)
    function = getattr(target, method)
    names = parameters(type(target).__name__, method, function)
    positional = [hostile(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
    keywords = {rng.choice(names): hostile(rng) for _ in range(rng.choice((0, 1, 1, 2)))} if names else {}
    if names and rng.random() < 0.5:
        positional = []
    words = [told(value) for value in positional] + [f"{key}={told(value)}" for key, value in keywords.items()]
    return f"{name}: {method}({', '.join(words)})", lambda: function(*positional, **keywords)


def consume(result: Any) -> None:
    """Uses what a call gave, so that its work is done."""
    if isinstance(result, Iterator):
        for _ in zip(range(3), result, strict=False):
            pass
    elif hasattr(result, "read") and isinstance(result, tricodec.Demuxer):
        result.read()
    elif isinstance(result, tricodec.FrameReader):
        len(result)


def call(seed: int) -> tuple[str, Callable[[], Any]]:
    """The call of this seed, the same on every run, and what it is."""
    rng = random.Random(seed)
    return (_call_of_function if rng.random() < 0.5 else _call_of_method)(rng)


def wrong(make: Callable[[], Any]) -> str | None:
    """What is wrong with how a call ends."""
    try:
        consume(make())
    except (StopIteration, *DOCUMENTED) as error:
        if isinstance(error, tricodec.InternalError):
            return f"{type(error).__name__}: {error}"
    except BaseException as error:  # is what is looked for
        return f"{type(error).__name__}: {error}"
    return None


def main(first: int, count: int) -> None:
    """Prints each seed with its call before the call is made, and then what went wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    clip()
    limits = tricodec.get_limits()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what takes a value for the name of a file writes it here
        for seed in range(first, first + count):
            what, make = call(seed)
            print(json.dumps({"seed": seed, "what": what}), flush=True)
            watchdog = threading.Timer(SECONDS, os._exit, (99,))
            watchdog.daemon = True
            watchdog.start()
            found = wrong(make)
            watchdog.cancel()
            tricodec.set_limits(**dataclasses.asdict(limits))
            if found is not None:
                print(json.dumps({"seed": seed, "what": what, "wrong": found}), flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
