# SPDX-License-Identifier: Apache-2.0
"""`tricodec serve --perf-data FILE`: requests for NVIDIA's perf_analyzer, and the command that sends them."""

from __future__ import annotations

import base64
import functools
import json
import operator
import shlex
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tricodec._tricodec import OutputFile
from tricodec.encode import encode_video
from tricodec.triton.serve.repository import installed_repository, model_inputs, read_config

_NO_WORDS = ("VIDEO", "VIDEO_FILE", "URL", "FRAMES_FILE", "FRAMES_DTYPE")
"""Inputs that --perf-input does not set: the videos, and files of a client."""
_NUMBERS: dict[str, Callable[[str], Any]] = {
    "INT64": int,
    "FP32": float,
    "FP64": float,
    "BOOL": lambda text: {"true": True, "false": False}[text],
}


def write(path: Path, model: str, videos: Sequence[str], inputs: Mapping[str, str], url: str) -> str:
    """Write a data file.

    Args:
        path: the file to write; a new one has the permissions of all videos at most.
        model: a model of tricodec that takes VIDEO as text.
        videos: paths of videos, one for each request; none is a clip that is generated.
        inputs: further inputs of every request by name: {"SIZE": "224,224"}.
        url: "HOST:PORT" of the server's gRPC interface, for the command.

    Returns:
        The command for perf_analyzer.

    Raises:
        ValueError: the model has no such input, or a value does not fit it.
    """
    config = read_config(installed_repository() / model)
    known = model_inputs(config)
    if known.get("VIDEO", ("", False))[0] != "STRING":
        raise ValueError(f"--perf-data needs a model with media files as its input VIDEO, and {model!r} is none; name "
                         "video_decode, video_stream, video_transcode, video_text or probe with --model")  # fmt: skip
    values = {name: _parse(name, text, known, model) for name, text in inputs.items()}
    files = [_read(video) for video in videos] or [_clip()]
    tensors = {name: {"content": content, "shape": [len(content)]} for name, content in values.items()}
    requests = [{"VIDEO": _bytes_tensor(data), **tensors} for data in files]
    permissions = functools.reduce(operator.and_, (Path(video).stat().st_mode for video in videos), 0o666)
    with OutputFile(path, permissions) as file:
        file.write((json.dumps({"data": requests}) + "\n").encode())

    command = ["perf_analyzer", "-m", model, "-i", "grpc", "-u", url, "--input-data", str(path),
               "--concurrency-range", "1:8"]  # fmt: skip
    if "decoupled: true" in config:
        command.append("--streaming")
    return shlex.join(command)


def _bytes_tensor(data: bytes) -> dict[str, Any]:
    """A tensor of one text, as Triton lays it out: its length comes before its bytes."""
    return {"b64": base64.b64encode(struct.pack("<I", len(data)) + data).decode(), "shape": [1]}


def _parse(name: str, text: str, known: Mapping[str, tuple[str, bool]], model: str) -> list[Any]:
    if name not in known or name in _NO_WORDS:
        accepted = ", ".join(each for each in known if each not in _NO_WORDS)
        raise ValueError(f"{model} has no input {name!r} for --perf-input; accepted: {accepted}")
    kind = known[name][0]
    if kind not in _NUMBERS:
        return [text]
    try:
        return [_NUMBERS[kind](part.strip()) for part in text.split(",")]
    except (ValueError, KeyError):
        raise ValueError(f"--perf-input {name}={text}: expected values of type {kind}, separated by commas") from None


def _read(video: str) -> bytes:
    try:
        return Path(video).read_bytes()
    except OSError as error:
        raise ValueError(f"--perf-video {video}: {error.strerror}") from error


def _clip() -> bytes:
    """Four seconds of a moving pattern, 640x360."""
    rows, columns = np.mgrid[0:360, 0:640]
    frames = np.empty((100, 360, 640, 3), np.uint8)
    for number, frame in enumerate(frames):
        frame[..., 0] = columns + 3 * number
        frame[..., 1] = rows + 2 * number
        frame[..., 2] = (rows + columns) // 2 - number
    file: bytes = bytes(encode_video(frames, codec="h264", frame_rate=25, preset="veryfast"))
    return file
