# SPDX-License-Identifier: Apache-2.0
"""What encoded streams hold, as ffprobe, ffmpeg and the NAL units themselves tell."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import media
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.uint8]


def probe(path: Path, entries: str, *options: str, stream: str = "v:0") -> dict[str, Any]:
    """ffprobe's JSON of ``-show_entries``, of the first video stream or another."""
    answer: dict[str, Any] = media.ffprobe(
        path, " ".join(["-select_streams", stream, "-show_entries", entries, *options])
    )
    return answer


def stream_facts(path: Path) -> dict[str, Any]:
    """ffprobe's facts of the video stream."""
    facts: dict[str, Any] = probe(path, "stream")["streams"][0]
    return facts


def pictures(path: Path) -> str:
    """The types of all pictures in presentation order: "IBBP..."."""
    return "".join(frame["pict_type"] for frame in probe(path, "frame=pict_type")["frames"])


def keys(path: Path) -> list[int]:
    """The numbers of the key frames in presentation order."""
    frames = probe(path, "frame=key_frame")["frames"]
    return [number for number, frame in enumerate(frames) if frame["key_frame"]]


def decoded(path: Path, pixel_format: str = "yuv420p") -> Array:
    """All frames as ffmpeg decodes them, one row of bytes after the other."""
    data = media.ffmpeg("-i", path, "-fps_mode passthrough -pix_fmt", pixel_format, "-f rawvideo -")
    return np.frombuffer(data, np.uint8)


def psnr(a: Array, b: Array) -> float:
    """Of all samples together, in dB."""
    error = float(np.mean((a.astype(np.float64) - b.astype(np.float64)) ** 2))
    return float("inf") if error == 0 else 10 * np.log10(255.0**2 / error)


def nal_types(data: bytes, codec: str) -> list[int]:
    """The types of all NAL units of an Annex B stream, in order."""
    types = []
    at = data.find(b"\x00\x00\x01")
    while at >= 0:
        first = data[at + 3]
        types.append(first & 0x1F if codec == "h264" else (first >> 1) & 0x3F)
        at = data.find(b"\x00\x00\x01", at + 3)
    return types


def trace(path: Path) -> list[str]:
    """What ffmpeg's own bitstream reader prints of every header field, a line each."""
    command = ["ffmpeg", "-v", "trace", "-i", str(path), "-c", "copy", "-bsf:v", "trace_headers", "-f", "null", "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return [line for line in text.splitlines() if "trace_headers" in line]


def fields(path: Path, name: str) -> list[int]:
    """The values of a header field, in the order of the stream."""
    found = []
    for line in trace(path):
        words = line.split("] ")[-1].split()
        if len(words) > 2 and words[1] == name:
            found.append(int(words[-1]))
    return found


def moving(width: int, height: int, count: int, *, noise: int = 0, seed: int = 7) -> Array:
    """Pictures of NV12 with moving gradients, uint8 [count, H * 3 / 2, W]; ``noise`` makes them hard to encode."""
    return _moving(width, height, count, noise, seed).copy()


@functools.cache
def _moving(width: int, height: int, count: int, noise: int, seed: int) -> Array:
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    frames = np.empty((count, height * 3 // 2, width), np.uint8)
    for number in range(count):
        luma = 128 + 60 * np.sin((x + 3 * number) / 11.0) + 40 * np.cos((y - 2 * number) / 7.0)
        if noise:
            luma = luma + generator.integers(-noise, noise + 1, luma.shape)
        frames[number, :height] = np.clip(luma, 16, 235)
        chroma = 128 + 30 * np.sin((x[: height // 2] + y[: height // 2] + 5 * number) / 19.0)
        frames[number, height:] = np.clip(chroma, 16, 240)
    return frames
